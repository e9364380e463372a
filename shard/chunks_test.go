package shard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"arborist/document"
)

// longDocument returns a document of many frames.
func longDocument(t *testing.T, seed string) *document.Document {
	t.Helper()
	var b strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&b, "%s line %d of %d\n", seed, i, i*i)
	}
	d, err := document.New([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestChunksAreThoseOfTheDocument(t *testing.T) {
	s, ctx := newShared(t, 1), t.Context()
	first, d := longDocument(t, "another"), longDocument(t, "this")
	for i, d := range []*document.Document{first, d} {
		if _, err := s.Put(ctx, []document.Entry{{Document: d, Location: document.Location{URI: fmt.Sprint("doc:/", i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	leaves, err := s.Leaves(ctx, d.Root())
	if err != nil {
		t.Fatal(err)
	}
	n := d.Chunks()
	if n < 5*frameChunks {
		t.Fatalf("%d chunks, want several frames", n)
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	for _, places := range [][]int{nil, {0}, {n - 1}, {frameChunks - 1, frameChunks}, {3, 4, 5, n / 2, n - 2, n - 1}, all} {
		chunks, err := s.Chunks(ctx, d.Root(), leaves, places)
		if err != nil || len(chunks) != len(places) {
			t.Fatalf("%d chunks of %v, %v", len(chunks), places, err)
		}
		for i, place := range places {
			if string(chunks[i]) != string(d.Chunk(place)) {
				t.Errorf("chunk %d is %.40q", place, chunks[i])
			}
		}
	}
	if _, err := s.Chunks(ctx, document.Root{1}, leaves, []int{0}); !errors.Is(err, ErrNotFound) {
		t.Errorf("chunks of a root that is nowhere = %v, want ErrNotFound", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Chunks(ended, d.Root(), leaves, []int{0}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the call ended = %v, want context.Canceled", err)
	}
	// Behind the last frame of a document stands the next one's.
	last := append(leaves[:n:n], leaves[0])
	if _, err := s.Chunks(ctx, d.Root(), last, []int{n}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a chunk behind the end = %v, want ErrCorrupt", err)
	}
	for name, damage := range map[string]string{
		"the text of another place": "UPDATE texts SET data = (SELECT data FROM texts WHERE id = 1) WHERE id = (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
		"no frame":                  "DELETE FROM texts WHERE id = (SELECT id FROM documents ORDER BY id DESC LIMIT 1)",
		"no frame zstd":             "UPDATE texts SET data = x'0101' WHERE id = (SELECT max(id) FROM texts)",
	} {
		if err := s.files[0].Write(ctx, func(tx *sql.Tx) error { _, err := tx.Exec(damage); return err }); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Chunks(ctx, d.Root(), leaves, []int{0, n - 1}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}
