package corpus

import (
	"context"
	"database/sql"
	"fmt"

	"arborist/merkle"
)

// A Past is a corpus as it was when its log had Size records.
type Past struct {
	Size      uint64
	Root      merkle.Hash // of the first Size records, from the tiles
	Documents uint64      // distinct documents listed then
	Listings  uint64      // URIs that listed one; several may list the same
	Page      []Entry     // some of the records that list them, by index
}

// At returns a corpus as it was at a size up to that of the signed head, with
// at most limit, which is at most [MaxRecords], of its listings behind the
// first offset. It fails with [ErrNotFound] beyond. It walks all records below
// size.
func (s *Store) At(ctx context.Context, origin string, size uint64, limit, offset int) (p Past, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if size > l.head.Size {
			return fmt.Errorf("%w: asked for size %d of %d records", ErrNotFound, size, l.head.Size)
		}
		p.Size = size
		if p.Root, err = merkle.RootAt(newTiles(ctx, tx, l.id, l.head.Size), size); err != nil {
			return err
		}
		// A record was current at size if it stood below it and what ended it,
		// a withdrawal by itself, did not.
		err := tx.QueryRowContext(ctx, "SELECT count(*), count(DISTINCT root) FROM record WHERE corpus = ? AND idx < ?2 AND ended >= ?2",
			l.id, int64(size)).Scan(&p.Listings, &p.Documents)
		if err != nil {
			return err
		}
		p.Page, err = listings(ctx, tx, l, size, limit, offset)
		return err
	})
	if err != nil {
		return Past{}, fmt.Errorf("read corpus %.200q at %d: %w", origin, size, err)
	}
	return p, nil
}

func listings(ctx context.Context, tx *sql.Tx, l *log, size uint64, limit, offset int) (page []Entry, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT idx, line FROM record WHERE corpus = ? AND idx < ?2 AND ended >= ?2 ORDER BY idx LIMIT ? OFFSET ?",
		l.id, int64(size), min(max(limit, 0), MaxRecords), max(offset, 0))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e Entry
		var line sql.RawBytes
		if err := rows.Scan(&e.Index, &line); err != nil {
			return nil, err
		}
		if e.Record, err = readRecord(e.Index, line); err != nil {
			return nil, err
		}
		page = append(page, e)
	}
	return page, rows.Err()
}
