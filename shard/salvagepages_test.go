package shard

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Each page of a shard is lost in turn, zeroed or flipped. A document that is whole
// on the pages that are left is saved, with its places: what is lost stood on that
// page, and most pages hold few documents. No page leads to others that would be
// lost with it.
func TestALostPageCostsNoDocumentOnOtherPages(t *testing.T) {
	const documents = 500
	dir, entries := aSet(t, documents)
	path := filepath.Join(dir, "00.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	count := len(whole) / pageSize
	inner := 0
	for page := range count {
		at := page * pageSize
		if page > 0 && whole[at] != 0x05 && page%31 != 0 { // all that lead to others, and some of the rest
			continue
		}
		for name, damage := range map[string]func(b []byte){
			"zeroed": func(b []byte) { clear(b) },
			"flipped": func(b []byte) {
				for i := range b {
					b[i] ^= 0x55
				}
			},
		} {
			b := bytes.Clone(whole)
			damage(b[at : at+pageSize])
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := SalvageShared(t.Context(), dir, filepath.Join(t.TempDir(), "aside"), Repair{Keep: func(Lost) error { return nil }, Did: func(string) {}}); err != nil {
				t.Fatal(err)
			}
			s, err := OpenShared(dir)
			if err != nil {
				t.Fatalf("page %d: %v", page+1, err)
			}
			kept, placed := 0, 0
			for _, e := range entries {
				if _, err := s.Document(t.Context(), e.Document.Root()); err == nil {
					kept++
				}
				if v, err := s.History(t.Context(), e.Location.URI); err == nil && len(v) > 0 {
					placed++
				}
			}
			// At most as many rows as fit on a page, of documents or of locations.
			if leads := page == 0 || whole[at] == 0x05; leads && (kept != documents || placed != documents) {
				t.Errorf("page %d, which leads to others, %s: %d documents and %d places of %d are left", page+1, name, kept, placed, documents)
			} else if kept < documents-60 || placed < documents-60 {
				t.Errorf("page %d, of kind %d, %s: %d documents and %d places of %d are left", page+1, whole[at], name, kept, placed, documents)
			} else if leads {
				inner++
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if inner < 6 {
		t.Errorf("only %d times a page that leads to others was damaged", inner)
	}
}
