package shard

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed schema.sql
var schemaSQL string

// A schemaRow is one row of sqlite_schema.
type schemaRow struct{ kind, name, table, sql string }

func readSchema(ctx context.Context, db *sql.DB) ([]schemaRow, error) {
	// The cap is far above ours: it bounds what a hostile file can make us hold.
	rows, err := db.QueryContext(ctx, "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name, tbl_name LIMIT 1000")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var schema []schemaRow
	for rows.Next() {
		var r schemaRow
		if err := rows.Scan(&r.kind, &r.name, &r.table, &r.sql); err != nil {
			return nil, err
		}
		schema = append(schema, r)
	}
	return schema, rows.Err()
}

// ownSchema returns what sqlite_schema holds after a script of ours.
func ownSchema(ctx context.Context, script string) ([]schemaRow, error) {
	db, err := connect("/schema", memory)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, script); err != nil {
		return nil, fmt.Errorf("build reference schema: %w", err)
	}
	return readSchema(ctx, db)
}

// checkSchema compares a file's schema with that of a script, row by row and text by text.
// A private file may have tables and indexes of its owner beside ours; no file
// may have views, triggers or virtual tables that are not ours.
func checkSchema(ctx context.Context, db *sql.DB, kind Kind, script string) error {
	want, err := ownSchema(ctx, script)
	if err != nil {
		return err
	}
	got, err := readSchema(ctx, db)
	if err != nil {
		return err
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			return corrupt("its schema lacks our %s %q or has it in another form", w.kind, w.name)
		}
	}
	for _, g := range got {
		if slices.Contains(want, g) {
			continue
		}
		plain := g.kind == "index" || g.kind == "table" && !strings.Contains(strings.ToUpper(g.sql), "VIRTUAL")
		ours := slices.ContainsFunc(want, func(w schemaRow) bool { return w.name == g.name || w.table == g.table })
		if kind != KindPrivate || !plain || ours {
			return corrupt("its schema has the %s %q, which is not ours", g.kind, g.name)
		}
	}
	return nil
}
