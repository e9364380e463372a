package shard

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"arborist/document"
)

// A repair that is killed at any time and done again keeps what one that was not
// killed keeps, and what it took out lies in quarantine.
func TestKilledRepairLosesNothingThatCouldBeKept(t *testing.T) {
	for name, c := range map[string]struct {
		job    int
		damage func(t *testing.T, path string)
		lost   int // documents, in either way
	}{
		"index and texts": {jobRepair, func(t *testing.T, p string) {
			tamper(t, p, "DELETE FROM postings; UPDATE texts SET data = zeroblob(9) WHERE id = 1; UPDATE state SET words = 7")
		}, 1},
		"first page": {jobSalvage, func(t *testing.T, p string) { overwrite(t, p, pageSize) }, 0},
		"kind":       {jobSalvage, func(t *testing.T, p string) { tamper(t, p, "PRAGMA application_id=77") }, 0},
		"damaged index": {jobSalvage, func(t *testing.T, p string) {
			zeroPage(t, p, "SELECT rootpage FROM sqlite_schema WHERE name = 'documents_changed'")
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			made, entries := aSet(t, 30)
			c.damage(t, filepath.Join(made, "00.db"))
			for round := range 4 {
				dir := filepath.Join(t.TempDir(), "shards")
				if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
					t.Fatal(err)
				}
				for kill := range 2 {
					life := time.Duration(1+round*60+kill*25) * time.Millisecond
					if _, problem := runChild(t, fmt.Sprintf("%s|%d", dir, c.job), life); problem != "" {
						t.Fatal(problem)
					}
				}
				if err := SalvageShared(t.Context(), dir, dir+".aside", childRepair(dir)); err != nil {
					t.Fatal(err)
				}
				s := openTestShared(t, dir)
				r := childRepair(dir)
				var left []string
				if _, err := s.CheckWith(t.Context(), CheckOptions{Repair: &r}, func(p string) { left = append(left, p) }); err != nil || len(left) > 0 {
					t.Fatalf("round %d: %q, %v", round, left, err)
				}
				mustKeepOrQuarantine(t, s, dir, entries, c.lost)
				mustBeTidy(t, dir, 1)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func mustKeepOrQuarantine(t *testing.T, s *Shared, dir string, entries []document.Entry, lost int) {
	t.Helper()
	gone := 0
	for _, e := range entries {
		root := e.Document.Root()
		if _, err := s.Document(t.Context(), root); err == nil {
			continue
		}
		gone++
		if _, err := os.Stat(filepath.Join(dir+".kept", root.String())); err != nil {
			t.Errorf("document %s is nowhere: %v", root, err)
		}
	}
	if gone != lost {
		t.Errorf("%d documents are gone, want %d", gone, lost)
	}
}

// zeroPage overwrites the page whose number a query gives.
func zeroPage(t *testing.T, path, query string) {
	t.Helper()
	db, err := connect(path, reading)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var number int64
	if err := db.QueryRow(query).Scan(&number); err != nil {
		t.Fatal(err)
	}
	patch(t, path, (number-1)*pageSize, make([]byte, pageSize))
}
