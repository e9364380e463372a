package shard

import (
	"database/sql"
	"errors"

	"arborist/document"
	"arborist/merkle"
)

// orphans brings back documents whose rows are lost and whose texts are whole. The
// row of leaf hashes says where a text begins and how many chunks it has; that the
// text is of the document is shown by hashing it, as always.
func (r *rescue) orphans() error {
	return walk(func(after int64, look bool) (id int64, err error) {
		err = r.from.QueryRowContext(background, "SELECT document FROM leaves WHERE document > ? ORDER BY document LIMIT 1", after).Scan(&id)
		if err != nil || look || r.without.drops(id) || r.lost[id] != nil {
			return id, err
		}
		if _, kept := r.ids[id]; kept {
			return id, r.ctx.Err()
		}
		_, err = r.adopt(id)
		return id, err
	}, r.skipped("leaves"))
}

// adopt stores the document whose text begins with a chunk, where the leaf hashes
// that stand there are those of a whole text, and reports whether they are.
func (r *rescue) adopt(id int64) (whole bool, err error) {
	row, err := r.rowOf(id)
	if err != nil || row.id == 0 {
		return false, err
	}
	d, err := document.Verify(row.header, r.rawText(row.id, row.end()))
	if err != nil {
		return false, nil
	}
	to, fresh, err := r.a.store(d, nil)
	if err != nil {
		return false, err
	}
	r.ids[id] = to
	if fresh {
		r.report("document %s is back: what said where it begins was lost, its text is whole", d.Root())
	}
	return true, nil
}

// rowOf makes the row of a document anew from the hashes of its leaves and the length
// of its text; without an ID where they cannot be read.
func (r *rescue) rowOf(id int64) (row docRow, err error) {
	var hashes []byte
	err = r.from.QueryRowContext(background, "SELECT hashes FROM leaves WHERE document = ?", id).Scan(&hashes)
	chunks := len(hashes) / merkle.HashSize
	if isUnreadable(damage(err)) || errors.Is(err, sql.ErrNoRows) || err == nil && (chunks == 0 || len(hashes)%merkle.HashSize > 0) {
		return row, nil
	}
	if err != nil {
		return row, err
	}
	var leaves merkle.Builder
	for ; len(hashes) > 0; hashes = hashes[merkle.HashSize:] {
		leaves.Append(merkle.Hash(hashes[:merkle.HashSize]))
	}
	row = docRow{id: id, header: document.Header{Root: document.Root(leaves.Root()), Chunks: uint64(chunks), Norm: document.NormName, Chunker: document.ChunkerName}}
	row.header.Bytes = uint64(len(r.rawText(id, row.end())))
	return row, nil
}
