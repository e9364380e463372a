package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"arborist/shard/internal/pages"
)

// Gather fills the tables that [Rescue] reads of a new file of corpora with the rows
// that stand on the pages of a damaged one. Nothing that is there then is proven.
func Gather(ctx context.Context, damaged, fresh string) error {
	db := sql.OpenDB(connector{(&url.URL{Scheme: "file", Path: fresh}).String() + "?mode=rw&_busy_timeout=5000"})
	defer db.Close()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return classify(err)
	}
	defer tx.Rollback()
	tables := []string{"corpus", "record", "tile", "evidence", "witness", "rotation", "filter", "salvaged"}
	err = pages.Gather(ctx, damaged, pages.Limits{PageSize: 4096, MaxRow: maxValue}, tx, tables, nil)
	if err != nil {
		return fmt.Errorf("gather rows of %s: %w", damaged, classify(err))
	}
	return classify(errors.Join(tx.Commit(), db.Close()))
}
