package shard

import (
	"database/sql"
	"fmt"
	"testing"
)

func pragma(t *testing.T, db *sql.DB, name string) string {
	t.Helper()
	var v any
	if err := db.QueryRow("PRAGMA " + name).Scan(&v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return fmt.Sprint(v)
}

// A kill cannot show what a power cut would: what keeps a commit is looked up.
func TestConnectionsAreSetUpForSafety(t *testing.T) {
	f := newPrivate(t)
	foreign, err := OpenForeign(donor(t, KindShared))
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	for name, c := range map[string]struct {
		db   *sql.DB
		want map[string]string
	}{
		"writer":  {f.writer, map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "5000"}},
		"reader":  {f.reader, map[string]string{"query_only": "1", "busy_timeout": "5000"}},
		"foreign": {foreign.reader, map[string]string{"query_only": "1"}},
	} {
		c.want["trusted_schema"], c.want["cell_size_check"] = "0", "1"
		for pragmaName, want := range c.want {
			if got := pragma(t, c.db, pragmaName); got != want {
				t.Errorf("%s: %s is %s, want %s", name, pragmaName, got, want)
			}
		}
		for _, forbidden := range []string{"CREATE VIEW v AS SELECT 1; SELECT * FROM v", "ATTACH ':memory:' AS other; CREATE TABLE other.t (x)"} {
			if name == "writer" && forbidden[0] == 'A' {
				continue // VACUUM needs it
			}
			if _, err := c.db.Exec(forbidden); err == nil {
				t.Errorf("%s: %q went through", name, forbidden)
			}
		}
	}
	for _, db := range []*sql.DB{f.reader, foreign.reader} {
		if _, err := db.Exec("DELETE FROM documents"); err == nil {
			t.Error("a reader wrote")
		}
	}
}
