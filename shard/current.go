package shard

import (
	"context"
	"database/sql"

	"arborist/document"
	"arborist/merkle"
)

// A CurrentPage is a document at a current location, with what tells it from
// others: no text.
type CurrentPage struct {
	URI, Title string
	Root       document.Root
	Words      int64
	Leaves     []merkle.Hash // of its chunks, as stored
}

// EachCurrent calls fn with every document at a current location whose URI is at
// least from and before to, in no order, until fn fails. Hashes are as stored:
// nothing is verified.
func (f *File) EachCurrent(ctx context.Context, from, to string, fn func(CurrentPage) error) error {
	return f.view(ctx, func(tx queryer) error {
		rows, err := tx.QueryContext(ctx, `SELECT l.uri, l.title, d.root, d.words, h.hashes FROM locations l
			JOIN documents d ON d.id = l.document JOIN leaves h ON h.document = d.id
			WHERE l.current = 1 AND l.uri >= ? AND l.uri < ?`, from, to)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var p CurrentPage
			var root, hashes sql.RawBytes
			if err := rows.Scan(&p.URI, &p.Title, &root, &p.Words, &hashes); err != nil {
				return err
			}
			if len(root) != len(p.Root) || len(hashes)%merkle.HashSize != 0 {
				return corrupt("location %.80q: a root of %d bytes, %d bytes of hashes", p.URI, len(root), len(hashes))
			}
			copy(p.Root[:], root)
			p.Leaves = make([]merkle.Hash, len(hashes)/merkle.HashSize)
			for i := range p.Leaves {
				copy(p.Leaves[i][:], hashes[i*merkle.HashSize:])
			}
			if err := fn(p); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}
