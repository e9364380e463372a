package corpus

import (
	"context"
	"database/sql"
	"fmt"
)

const (
	// applicationID marks the file in SQLite's header ("ArbC"), so that no file
	// of another kind is taken for it.
	applicationID = 0x41726243
	// schemaVersion is SQLite's user_version. A larger one is refused, a
	// smaller one brought up to it by upgrades.
	schemaVersion = 6
	// LastVersion is more than a version of tables will ever be: what says that it is
	// of a later one is damaged, and not of a program that is to be installed.
	LastVersion = 999
)

// openEnd stands in record.ended for "nothing has ended this record": above every
// index, so that "current at size n" is one range: idx < n and ended >= n.
const openEnd = int64(1<<63 - 1)

// schema is the whole of the file, statement by statement as SQLite stores
// them: a file with anything else in it is refused.
//
// Columns of a log that end in the staged half (staged, staged_documents, and
// records and hashes at or above size) belong to lines that no head covers
// yet. Every read bounds itself by size. That is enough to keep them unseen,
// because everything below size is a prefix of what is staged: tiles only grow
// to the right, and an end at or above size has not happened yet.
//
// In record, uri is a hash of the URI; root is empty in a withdrawal, which
// lists nothing; kind of evidence is its number in evidenceKinds; ended is the index of the record that ended this one, its own
// in a withdrawal, openEnd while it is current.
var schema = []string{
	`CREATE TABLE corpus (
		id        INTEGER PRIMARY KEY,
		origin    TEXT NOT NULL UNIQUE,
		name      TEXT NOT NULL,
		key       TEXT NOT NULL,
		own       INTEGER NOT NULL,
		size      INTEGER NOT NULL,
		root      BLOB NOT NULL,
		note      BLOB,
		documents INTEGER NOT NULL,
		staged    INTEGER NOT NULL,
		staged_documents INTEGER NOT NULL,
		seen      BLOB,
		frozen    INTEGER,
		statement BLOB
	) STRICT`,
	`CREATE UNIQUE INDEX corpus_own_name ON corpus (name) WHERE own = 1`,
	`CREATE TABLE record (
		corpus INTEGER NOT NULL,
		idx    INTEGER NOT NULL,
		uri    BLOB NOT NULL,
		root   BLOB NOT NULL,
		id     BLOB NOT NULL,
		ended  INTEGER NOT NULL,
		line   BLOB NOT NULL,
		PRIMARY KEY (corpus, idx)
	) STRICT, WITHOUT ROWID`,
	`CREATE INDEX record_uri ON record (corpus, uri)`,
	`CREATE INDEX record_root ON record (root, corpus, ended)`,
	`CREATE TABLE tile (
		corpus INTEGER NOT NULL,
		level  INTEGER NOT NULL,
		idx    INTEGER NOT NULL,
		hashes BLOB NOT NULL,
		PRIMARY KEY (corpus, level, idx)
	) STRICT, WITHOUT ROWID`,
	`CREATE TABLE evidence (
		id     INTEGER PRIMARY KEY,
		corpus INTEGER NOT NULL,
		heads  BLOB NOT NULL,
		kind INTEGER NOT NULL,
		older  BLOB NOT NULL,
		newer  BLOB NOT NULL,
		root   BLOB NOT NULL,
		path   BLOB NOT NULL,
		at     INTEGER NOT NULL,
		UNIQUE (corpus, heads)
	) STRICT`,
	witnessTable,
	rotationTable,
	filterTable,
	salvagedTable,
}

// prepare makes an empty file ours and refuses every other that is not. A
// crash within leaves an empty file, which the next call makes ours.
func prepare(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var app, version, objects int64
	for _, q := range []struct {
		sql string
		to  *int64
	}{
		{"PRAGMA application_id", &app},
		{"PRAGMA user_version", &version},
		{"SELECT count(*) FROM sqlite_schema", &objects},
	} {
		if err := tx.QueryRowContext(ctx, q.sql).Scan(q.to); err != nil {
			return err
		}
	}
	switch {
	case app == 0 && version == 0 && objects == 0:
		for _, statement := range schema {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, schemaVersion)
		if _, err := tx.ExecContext(ctx, mark); err != nil {
			return err
		}
		return tx.Commit()
	case app != applicationID:
		return fmt.Errorf("%w: application_id is %#x, want %#x", ErrForeign, app, applicationID)
	case version < 1 || version > LastVersion:
		return fmt.Errorf("%w: schema version %d never existed", ErrForeign, version)
	case version > schemaVersion:
		return fmt.Errorf("%w: schema %d, this version knows %d: upgrade arborist", ErrNewer, version, schemaVersion)
	}
	if err := upgrade(ctx, tx, version); err != nil {
		return fmt.Errorf("bring schema %d to %d: %w", version, schemaVersion, err)
	}
	if err := checkSchema(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// checkSchema refuses a file whose schema is not ours to the letter: a trigger
// or view in it would run within our statements.
func checkSchema(ctx context.Context, tx *sql.Tx) error {
	want := make(map[string]bool, len(schema))
	for _, statement := range schema {
		want[statement] = true
	}
	rows, err := tx.QueryContext(ctx, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var kind, name, statement string
		if err := rows.Scan(&kind, &name, &statement); err != nil {
			return err
		}
		if !want[statement] {
			return fmt.Errorf("%w: unexpected %s %.64q in its schema", ErrForeign, kind, name)
		}
		delete(want, statement)
	}
	if len(want) > 0 {
		return fmt.Errorf("%w: %d tables or indexes are missing", ErrForeign, len(want))
	}
	return rows.Err()
}
