package shard

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"arborist/document"
)

//go:embed schema_v1.sql
var schemaV1 string

// migrate brings a file of ours from an older schema version to the current
// one, in one transaction: a crash leaves the old file. The index is made anew
// from the text; every document is hashed on the way.
func (f *File) migrate(ctx context.Context, version uint32) error {
	was, change := schemaSQL, f.reindex
	if version == 1 {
		was, change = schemaV1, f.fromVersion1
	}
	if err := checkSchema(ctx, f.writer, f.kind, was); err != nil {
		return fmt.Errorf("schema version %d: %w", version, err)
	}
	return f.Write(ctx, func(tx *sql.Tx) error {
		if err := change(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", SchemaVersion))
		return err
	})
}

// reindex, of versions 2 and 3: the tables are the same, the rows of the index are not.
// All documents become pending and are indexed.
func (f *File) reindex(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM segments; DELETE FROM postings; UPDATE documents SET visible = 0, words = 0;
		UPDATE state SET passages = 0, words = 0, all_words = 0`)
	if err != nil {
		return err
	}
	a, err := newApplier(f, tx)
	if err != nil {
		return err
	}
	if err := a.catchUp(ctx, 1<<62); err != nil {
		return err
	}
	return a.finish()
}

// fromVersion1: it had the text of each chunk in a row, and an index of FTS5.
func (f *File) fromVersion1(ctx context.Context, tx *sql.Tx) error {
	// The new tables are made beside the old ones, whose names they take.
	_, err := tx.ExecContext(ctx, `ALTER TABLE state RENAME TO old_state; ALTER TABLE documents RENAME TO old_documents;
		ALTER TABLE leaves RENAME TO old_leaves; ALTER TABLE origins RENAME TO old_origins; ALTER TABLE locations RENAME TO old_locations;
		DROP INDEX documents_changed; DROP INDEX locations_document; DROP INDEX locations_place;`+schemaSQL)
	if err != nil {
		return err
	}
	if err := f.copyDocuments(ctx, tx); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO origins SELECT * FROM old_origins; INSERT INTO locations SELECT * FROM old_locations;
		UPDATE state SET shard = old.shard, shards = old.shards, generation = old.generation + 1 FROM old_state AS old;
		DROP TABLE old_locations; DROP TABLE old_leaves; DROP TABLE old_documents; DROP TABLE old_origins; DROP TABLE old_state;
		DROP TABLE fts; DROP TABLE chunks`)
	return err
}

// copyDocuments stores every document anew, with the number that it had.
func (f *File) copyDocuments(ctx context.Context, tx *sql.Tx) error {
	a, err := newApplier(f, tx)
	if err != nil {
		return err
	}
	for id := int64(0); ; {
		row, err := scanDoc(tx.QueryRowContext(background, "SELECT "+docColumns+" FROM old_documents WHERE id > ? ORDER BY id LIMIT 1", id))
		if errors.Is(err, ErrNotFound) {
			return a.finish()
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if id = row.id; id != a.next {
			return corrupt("chunks %d to %d are in no document", a.next, id-1)
		}
		d, err := readV1(tx, row)
		if err != nil {
			return err
		}
		words, err := a.storeNew(d, nil)
		if err != nil {
			return err
		}
		if !row.visible {
			if err := a.setVisibleAs(row, d, words, false); err != nil {
				return err
			}
		}
	}
}

// readV1 reads a document as version 1 stored it.
func readV1(tx *sql.Tx, row docRow) (*document.Document, error) {
	rows, err := tx.QueryContext(background, "SELECT text FROM chunks WHERE id >= ? AND id < ? ORDER BY id", row.id, row.end())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var text []byte
	for rows.Next() {
		var chunk sql.RawBytes
		if err := rows.Scan(&chunk); err != nil {
			return nil, err
		}
		if text = append(text, chunk...); uint64(len(text)) > row.header.Bytes {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	d, err := document.Verify(row.header, slices.Clip(text))
	if err != nil {
		return nil, corrupt("document %s: %w", row.header.Root, err)
	}
	return d, nil
}
