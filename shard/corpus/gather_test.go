package corpus

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Whichever page of the file is lost: of a log come back all records before the
// first one that stood on that page, and where none did, all of it. Rows of the log
// stand on inner pages too; by their numbers alone, all below such a page are lost.
func TestRecordsOnOtherPagesAreGathered(t *testing.T) {
	const pageSize, records = 4096, 300
	m := newModelOf(t, "main", records)
	s := ownStore(t, m, records, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	all, more := 0, 0
	for page := 0; page < len(whole)/pageSize; page++ {
		b := bytes.Clone(whole)
		clear(b[page*pageSize : (page+1)*pageSize])
		dir := t.TempDir()
		damaged, gathered := filepath.Join(dir, "damaged.db"), filepath.Join(dir, "gathered.db")
		if err := os.WriteFile(damaged, b, 0o600); err != nil {
			t.Fatal(err)
		}
		empty := openTest(t, gathered)
		if err := errors.Join(empty.Close(), Gather(t.Context(), damaged, gathered)); err != nil {
			t.Fatalf("page %d: %v", page+1, err)
		}
		byPages, listed := rescued(t, gathered, filepath.Join(dir, "a.db"))
		if want := firstMissing(t, gathered); listed && byPages != want {
			t.Errorf("page %d: %d records are saved, the first %d are there", page+1, byPages, want)
		}
		byKey, _ := rescued(t, damaged, filepath.Join(dir, "b.db"))
		switch {
		case byPages < byKey:
			t.Errorf("page %d: by pages %d records are saved, by their numbers %d", page+1, byPages, byKey)
		case byPages > byKey:
			more++
		}
		if byPages == records {
			all++
		}
	}
	if all < 5 || more < 2 {
		t.Errorf("%d times all records were saved, %d times more than by their numbers", all, more)
	}
}

// rescued returns how many records a rescue saves, and whether it found the log.
func rescued(t *testing.T, damaged, fresh string) (records uint64, found bool) {
	t.Helper()
	kept, err := Rescue(t.Context(), damaged, fresh, nil, nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range kept {
		records += l.Records
	}
	return records, len(kept) > 0
}

// firstMissing returns how many records are there without a gap.
func firstMissing(t *testing.T, path string) (n uint64) {
	t.Helper()
	db := sql.OpenDB(plainConnector("file:" + path + "?mode=ro"))
	defer db.Close()
	rows, err := db.Query("SELECT idx FROM record ORDER BY idx")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var idx uint64
		if err := rows.Scan(&idx); err != nil {
			t.Fatal(err)
		}
		if idx != n {
			break
		}
		n++
	}
	return n
}
