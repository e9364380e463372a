package shard

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"arborist/document"
)

// What the disk holds of a log whose sync failed is not known. Moved into the
// file, the log is named no more, and what the disk holds of it may come back after a power cut,
// over what is newer: so closing leaves it to the next process.
func TestALogInDoubtIsLeftToTheNextProcess(t *testing.T) {
	for _, doubt := range []bool{true, false} {
		dir, entries := aSet(t, 20)
		path := filepath.Join(dir, "00.db")
		s, err := OpenShared(dir)
		if err != nil {
			t.Fatal(err)
		}
		later := page(500)
		if _, err := s.Put(t.Context(), []document.Entry{later}); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s.files[0].doubt.Store(doubt)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, left := os.Stat(path + "-wal")
		if moved := !bytes.Equal(before, after); moved == doubt || (left == nil) != doubt {
			t.Errorf("doubt %v: moved %v, log: %v", doubt, moved, left)
		}
		s = openTestShared(t, dir)
		mustCheck(t, s)
		for _, e := range append(entries, later) {
			if _, err := s.Document(t.Context(), e.Document.Root()); err != nil {
				t.Errorf("doubt %v: %v", doubt, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path + "-wal"); err == nil {
			t.Errorf("doubt %v: the next process leaves the log too", doubt)
		}
	}
}
