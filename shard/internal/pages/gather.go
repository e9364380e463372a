package pages

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// A table is one that rows are gathered for.
type table struct {
	name    string
	indexed bool // without row IDs
	id      int  // column that stands for the row ID, -1: none does
	columns []column
	insert  *sql.Stmt
}

type column struct {
	kind string // INTEGER, REAL, TEXT or BLOB
	null bool
}

// Gather puts the rows that [Scan] finds in a file into the empty tables of these
// names in tx, which are STRICT: each into every table whose columns it fits, where
// accept, which may be nil, agrees. Of rows that cannot both be there the first one
// stays. Nothing that it puts there is proven.
func Gather(ctx context.Context, path string, l Limits, tx *sql.Tx, names []string, accept func(table string, values []any) bool) error {
	tables := make([]table, len(names))
	for i, name := range names {
		var err error
		if tables[i], err = describe(ctx, tx, name); err != nil {
			return fmt.Errorf("gather rows of %s: %w", name, err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return Scan(file, size, l, func(row Row) error {
		for _, t := range tables {
			if !t.fits(row) || accept != nil && !accept(t.name, row.Values) {
				continue
			}
			if err := t.put(ctx, row); err != nil {
				return fmt.Errorf("gather rows of %s: %w", t.name, err)
			}
		}
		return ctx.Err()
	})
}

// describe reads from the schema what rows of a table are like.
func describe(ctx context.Context, tx *sql.Tx, name string) (t table, err error) {
	t = table{name: name, id: -1}
	if err := tx.QueryRowContext(ctx, "SELECT wr FROM pragma_table_list(?)", name).Scan(&t.indexed); err != nil {
		return t, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT type, \"notnull\", pk FROM pragma_table_info(?) ORDER BY cid", name)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	key := 0
	for rows.Next() {
		var c column
		var notNull bool
		var pk int
		if err := rows.Scan(&c.kind, &notNull, &pk); err != nil {
			return t, err
		}
		if key = max(key, pk); pk == 1 && c.kind == "INTEGER" {
			t.id = len(t.columns)
		}
		c.null = !notNull
		t.columns = append(t.columns, c)
	}
	if t.indexed || key != 1 {
		t.id = -1
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return t, err
	}
	t.insert, err = tx.PrepareContext(ctx, "INSERT OR IGNORE INTO "+name+" VALUES (?"+strings.Repeat(", ?", len(t.columns)-1)+")")
	return t, err
}

// fits reports whether a row can be one of the table.
func (t *table) fits(row Row) bool {
	if row.Indexed != t.indexed || len(row.Values) != len(t.columns) {
		return false
	}
	for i, v := range row.Values {
		kind := ""
		switch v.(type) {
		case int64:
			kind = "INTEGER"
		case float64:
			kind = "REAL"
		case string:
			kind = "TEXT"
		case []byte:
			kind = "BLOB"
		}
		if i == t.id && kind == "" { // the row ID stands for it
			continue
		}
		if i == t.id || !t.columns[i].holds(kind) {
			return false
		}
	}
	return true
}

// holds reports whether a value of a kind, "" for NULL, can stand in the column. A
// REAL without a fraction is stored as an INTEGER.
func (c column) holds(kind string) bool {
	return kind == c.kind || kind == "" && c.null || kind == "INTEGER" && c.kind == "REAL"
}

func (t *table) put(ctx context.Context, row Row) error {
	values := slices.Clone(row.Values)
	if t.id >= 0 {
		values[t.id] = row.ID
	}
	_, err := t.insert.ExecContext(context.WithoutCancel(ctx), values...)
	return err
}
