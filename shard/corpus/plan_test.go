package corpus

import (
	"context"
	"database/sql"
	"testing"

	"github.com/mattn/go-sqlite3"
)

// A cached statement would otherwise be parsed and planned anew whenever it is given other
// values, which costs more than running it.
func TestStatementsArePlannedOnce(t *testing.T) {
	s, m := newOwn(t)
	appendBoth(t, s, m, numbered(800, 0)...)
	s.read.SetMaxOpenConns(1)
	prove := func(i int) {
		if _, err := s.Prove(t.Context(), m.origin(), numbered(1, i)[0].Header.Root); err != nil {
			t.Fatal(err)
		}
	}
	prove(0)
	planned := watchPlanning(t, s.read)
	prove(300) // with another tile; that a watch began has everything planned once more
	*planned = 0
	prove(301)
	prove(799)
	if *planned > 0 {
		t.Errorf("statements that had run before were planned again: %d looks at columns", *planned)
	}
}

// watchPlanning counts the columns that are looked up while a pool's one connection plans.
func watchPlanning(t *testing.T, db *sql.DB) *int {
	t.Helper()
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	n := new(int)
	err = conn.Raw(func(c any) error {
		c.(*sqlite3.SQLiteConn).RegisterAuthorizer(func(op int, _, _, _ string) int {
			if op == sqlite3.SQLITE_READ { // BEGIN and COMMIT are told of as well
				*n++
			}
			return sqlite3.SQLITE_OK
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
