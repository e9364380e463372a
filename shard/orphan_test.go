package shard

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leafPages returns the leaf pages of a table, which has two levels, by their numbers from 1.
func leafPages(t *testing.T, path, table string) (numbers []int) {
	t.Helper()
	db, err := connect(path, reading)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var root int
	if err := db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = ?", table).Scan(&root); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := b[(root-1)*pageSize:][:pageSize]
	if page[0] != 0x05 {
		t.Fatalf("page %d, of %s, leads to no others", root, table)
	}
	for i := range int(binary.BigEndian.Uint16(page[3:])) {
		cell := binary.BigEndian.Uint16(page[12+2*i:])
		numbers = append(numbers, int(binary.BigEndian.Uint32(page[cell:])))
	}
	return append(numbers, int(binary.BigEndian.Uint32(page[8:])))
}

// The rows of documents say where a text begins, and the texts are all there: no
// document is lost with such a row, be it gone or wrong.
func TestALostRowOfADocumentCostsNoDocument(t *testing.T) {
	const documents = 300
	dir, entries := aSet(t, documents)
	path := filepath.Join(dir, "00.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	leaves := leafPages(t, path, "documents")
	if len(leaves) < 4 {
		t.Fatalf("%d leaves", len(leaves))
	}
	damages := map[string]func(){
		"no row but the first and the last": func() {
			tamper(t, path, "PRAGMA foreign_keys=OFF; DELETE FROM documents WHERE id > 1 AND id < (SELECT max(id) FROM documents)")
		},
		"roots are changed":   func() { tamper(t, path, "UPDATE documents SET root = randomblob(32) WHERE id % 3 = 0") },
		"numbers are changed": func() { tamper(t, path, "UPDATE documents SET chunks = chunks + 1, bytes = 7 WHERE id % 3 = 0") },
	}
	for _, number := range []int{leaves[0], leaves[len(leaves)/2]} {
		damages["a page of them is zeroed"] = func() { patch(t, path, int64(number-1)*pageSize, make([]byte, pageSize)) }
		damages["a page of them is another's"] = func() { patch(t, path, int64(number-1)*pageSize, whole[(leaves[1]-1)*pageSize:][:pageSize]) }
		for name, damage := range damages {
			if err := os.WriteFile(path, bytes.Clone(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			damage()
			var did []string
			repair := Repair{Did: func(l string) { did = append(did, l) }, Keep: func(l Lost) error { t.Errorf("%s: lost %s: %s", name, l.Root, l.Reason); return nil }}
			if err := SalvageShared(t.Context(), dir, filepath.Join(t.TempDir(), "aside"), repair); err != nil {
				t.Fatal(err)
			}
			s, err := OpenShared(dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.CheckWith(t.Context(), CheckOptions{Repair: &repair}, func(p string) { t.Errorf("%s: %s", name, p) }); err != nil {
				t.Error(err)
			}
			missing := 0
			for _, e := range entries {
				v, err := s.Locations(t.Context(), e.Document.Root())
				if _, lost := s.Document(t.Context(), e.Document.Root()); lost != nil || err != nil || len(v) == 0 {
					missing++
				}
			}
			if missing > 0 {
				t.Errorf("page %d, %s: %d of %d documents are missing", number, name, missing, documents)
			}
			if !slices.ContainsFunc(did, func(l string) bool { return strings.Contains(l, "is back: what said where it begins was lost") }) {
				t.Errorf("%s: it said %q", name, did)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
