package shard

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"

	"arborist/document"
)

func TestStoredNeverGivesOtherBytesThanTheRootNames(t *testing.T) {
	other := "the other text has several frames"
	for i := range 3000 {
		other += fmt.Sprint(", ", i)
	}
	for name, damage := range map[string]string{
		"another text":                         "UPDATE texts SET data = (SELECT data FROM texts WHERE id = 1) WHERE id = (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
		"no text":                              "DELETE FROM texts WHERE id = (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
		"its last frame in place of the first": "UPDATE texts SET data = (SELECT data FROM texts ORDER BY id DESC LIMIT 1) WHERE id = (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
		"an empty frame":                       "UPDATE texts SET data = x'' WHERE id = (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := CreateShared(dir, 1); err != nil {
				t.Fatal(err)
			}
			s, err := OpenShared(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var last document.Header
			for _, text := range []string{"the first text", other} {
				d, err := document.New([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				last = d.Header()
				if _, err := s.Put(t.Context(), []document.Entry{{Document: d, Location: document.Location{URI: "doc:/" + text[:9]}}}); err != nil {
					t.Fatal(err)
				}
			}
			dec, err := zstd.NewReader(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer dec.Close()
			read := func(h document.Header, compressed bool) Stored {
				docs, err := s.Stored(t.Context(), []document.Header{h}, compressed)
				if err != nil {
					t.Fatal(err)
				}
				return docs[0]
			}
			// What was stored, and what was served before, is not decoded again.
			for range 2 {
				text, err := dec.DecodeAll(bytes.Join(read(last, true).Parts, nil), nil)
				if err != nil || string(text) != other {
					t.Fatalf("before the damage: %.40q, %v", text, err)
				}
			}
			if doc := read(last, false); doc.Err != nil || string(bytes.Join(doc.Parts, nil)) != other {
				t.Fatalf("before the damage: %v", doc.Err)
			}
			if err := s.files[0].Write(t.Context(), func(tx *sql.Tx) error { _, err := tx.Exec(damage); return err }); err != nil {
				t.Fatal(err)
			}
			for _, compressed := range []bool{false, true} {
				if doc := read(last, compressed); !errors.Is(doc.Err, ErrCorrupt) || doc.Parts != nil {
					t.Errorf("Stored = %v, compressed %v, want ErrCorrupt", doc.Err, compressed)
				}
				if doc := read(document.Header{Root: document.Root{1}}, compressed); !errors.Is(doc.Err, ErrNotFound) {
					t.Errorf("Stored of a root that is nowhere = %v, want ErrNotFound", doc.Err)
				}
			}
		})
	}
}

// Many documents come in the order in which they are wanted, from whichever file,
// compressed or not, and one that is damaged takes no other with it.
func TestStoredGivesEachDocumentByItself(t *testing.T) {
	s, entries := newShared(t, 4), generated(t, 40)
	put1(t, s, entries...)
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	headers := make([]document.Header, len(entries))
	for i, e := range entries {
		headers[i] = e.Document.Header()
	}
	bad := headers[7].Root
	home := s.home(bad)
	if _, err := home.writer.Exec("UPDATE texts SET data = zeroblob(3) WHERE id = (SELECT id FROM documents WHERE root = ?)", bad[:]); err != nil {
		t.Fatal(err)
	}
	for _, compressed := range []bool{false, true} {
		docs, err := s.Stored(t.Context(), headers, compressed)
		if err != nil {
			t.Fatal(err)
		}
		for i, doc := range docs {
			text := bytes.Join(doc.Parts, nil)
			if compressed && doc.Err == nil {
				if text, err = dec.DecodeAll(text, nil); err != nil {
					t.Fatal(err)
				}
			}
			if (doc.Err != nil) != (i == 7) || i != 7 && !bytes.Equal(text, entries[i].Document.Text()) {
				t.Errorf("document %d, compressed %v: %d bytes, %v", i, compressed, len(text), doc.Err)
			}
		}
	}
}
