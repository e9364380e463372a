package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Whichever page of the file a disk has changed, an append fails, or it signs what
// follows from the log as it was: whoever follows it goes on. And nobody is
// accused of a second history because of what a disk did.
func TestAnAppendToADamagedFileSignsNothingThatALogDoesNotAllow(t *testing.T) {
	const records, pageSize = 400, 4096
	ctx := context.Background()
	m := newModelOf(t, "main", records)
	s := ownStore(t, m, records, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	next := newModelOf(t, "main", records)
	changed := listed("https://example.org/333", "changed")
	batch := append(numbered(3, records), changed, withdrawal("https://example.org/390"))
	for _, r := range batch {
		next.put(r)
	}
	pages := len(whole) / pageSize
	signed := 0
	dir := t.TempDir()
	for page := 1; page < pages; page++ {
		at := page * pageSize
		flipped := bytes.Clone(whole[at : at+pageSize])
		for i := range flipped {
			if i%97 == 50 {
				flipped[i] ^= 0x10
			}
		}
		for name, put := range map[string][]byte{
			"zeroed":  make([]byte, pageSize),
			"flipped": flipped,
			"another": whole[(page*7%(pages-1)+1)*pageSize:][:pageSize],
		} {
			b := bytes.Clone(whole)
			copy(b[at:], put)
			path := filepath.Join(dir, fmt.Sprintf("%d%s.db", page, name))
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := Open(path)
			if err != nil {
				continue
			}
			head, err := d.Append(ctx, m.origin(), m.signer, batch)
			if err == nil {
				signed++
				if head != next.head(next.size()) {
					t.Errorf("page %d (type %d) %s: it signed another log, of %d records", page, whole[at], name, head.Size)
				}
			}
			if info, err := d.Lookup(ctx, m.origin()); err == nil && info.Frozen {
				t.Errorf("page %d (type %d) %s: the corpus is frozen", page, whole[at], name)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d of %d appends succeeded", signed, 3*pages)
	if signed == 0 || signed > 2*pages {
		t.Errorf("%d appends succeeded, over %d pages", signed, pages)
	}
}

// What SQLite does not notice: a record is not the one that the tree has, as after a
// write that went to the wrong place.
func TestNothingIsSignedBehindARecordThatIsNotInTheTree(t *testing.T) {
	const records = 700
	m := newModelOf(t, "main", records)
	s := ownStore(t, m, records, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, raw(t, s.path), "UPDATE record SET line = (SELECT line FROM record o WHERE o.idx = 7) WHERE idx = 11")
	d, err := Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if head, err := d.Append(context.Background(), m.origin(), m.signer, numbered(1, records)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("it signed %+v, %v, want ErrCorrupt", head, err)
	}
}
