package rank

import (
	"database/sql"
	"testing"

	_ "github.com/mattn/go-sqlite3"
)

func TestX(t *testing.T) {
	if err := Register(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var v int
	if err := db.QueryRow("SELECT arborist_harden()").Scan(&v); err != nil {
		t.Fatal(err)
	}
	var b []byte
	if err := db.QueryRow("SELECT arborist_tokens('Running the quick multi-agent, Ünïcode')").Scan(&b); err != nil {
		t.Fatal(err)
	}
	t.Logf("%q", b)
}
