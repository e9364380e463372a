package pages

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// A Queryer is a connection, or a transaction, of SQLite.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// ReadIndexes reads the first entry of each index of a file, and fails with what
// SQLite says of the first that it cannot read. SQLite's own check looks at no index
// of a table without rows, so the page of one may be of any kind there: until it is
// read, and whatever reads it then fails.
func ReadIndexes(ctx context.Context, file Queryer) error {
	rows, err := file.QueryContext(ctx, "SELECT name, tbl_name, coalesce(sql, '') FROM sqlite_schema WHERE type = 'index'")
	if err != nil {
		return err
	}
	defer rows.Close()
	var queries []string
	for rows.Next() {
		var name, table, made string
		if err := rows.Scan(&name, &table, &made); err != nil {
			return err
		}
		q := fmt.Sprintf("SELECT 1 FROM %s INDEXED BY %s", quoted(table), quoted(name))
		if _, some, ok := strings.Cut(made, " WHERE "); ok {
			q += " WHERE " + some // SQLite uses an index of some rows only for these
		}
		queries = append(queries, q+" LIMIT 1")
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, q := range queries {
		rows, err := file.QueryContext(ctx, q)
		if err == nil {
			rows.Next()
			err = rows.Err()
			rows.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
