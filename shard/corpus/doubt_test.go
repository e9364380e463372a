package corpus

import (
	"os"
	"testing"
)

// As of a shard: what may not be on the disk is not moved by closing.
func TestALogInDoubtIsLeftToTheNextProcess(t *testing.T) {
	m := newModelOf(t, "main", 30)
	for _, doubt := range []bool{true, false} {
		s := ownStore(t, m, 30, nil)
		s.doubt.Store(doubt)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.path + "-wal"); (err == nil) != doubt {
			t.Errorf("doubt %v: the log: %v", doubt, err)
		}
		next := openTest(t, s.path)
		m.checkLog(t, next, 30)
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.path + "-wal"); err == nil {
			t.Errorf("doubt %v: the next process leaves the log too", doubt)
		}
	}
}
