package shard

import (
	"database/sql"
	"errors"
	"testing"

	"arborist/document"
)

func TestStoredNeverGivesOtherBytesThanTheRootNames(t *testing.T) {
	for name, damage := range map[string]string{
		"another text":   "UPDATE texts SET data = (SELECT data FROM texts WHERE id = 1) WHERE id = (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
		"no text":        "DELETE FROM texts WHERE id = (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
		"an empty frame": "UPDATE texts SET data = x'' WHERE id = (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
		"a wrong length": "UPDATE documents SET bytes = bytes + 1 WHERE id = (SELECT max(id) FROM documents)",
		"a wrong count":  "UPDATE documents SET chunks = chunks + 1 WHERE id = (SELECT max(id) FROM documents)",
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
			var last document.Root
			for _, text := range []string{"the first text", "the other text"} {
				d, err := document.New([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				last = d.Root()
				if _, err := s.Put(t.Context(), []document.Entry{{Document: d, Location: document.Location{URI: "doc:/" + text}}}); err != nil {
					t.Fatal(err)
				}
			}
			if doc, err := s.Stored(t.Context(), last); err != nil || string(doc.Text) != "the other text" {
				t.Fatalf("before the damage: %v, %v", doc, err)
			}
			if err := s.files[0].Write(t.Context(), func(tx *sql.Tx) error { _, err := tx.Exec(damage); return err }); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Stored(t.Context(), last); !errors.Is(err, ErrCorrupt) {
				t.Errorf("Stored = %v, want ErrCorrupt", err)
			}
			if _, err := s.Stored(t.Context(), document.Root{1}); !errors.Is(err, ErrNotFound) {
				t.Errorf("Stored of a root that is nowhere = %v, want ErrNotFound", err)
			}
		})
	}
}
