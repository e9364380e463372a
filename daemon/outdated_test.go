package daemon

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/shard"
)

// olderShard returns a shard file of schema version 3, with a document about badgers.
func olderShard(t *testing.T) []byte {
	t.Helper()
	packed, err := os.Open(filepath.Join("..", "shard", "testdata", "v3", "00.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What was attached by an older version of this program is searched by this one,
// whatever became of the file that it came from.
func TestAnAttachedFileOutlivesAChangeOfTheSchema(t *testing.T) {
	home := newHome(t)
	n := openNode(t, home)
	path := donorFile(t, shard.KindShared, "a marten")
	first, err := n.Attach(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home.Attached(), first.Name), olderShard(t), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	n, err = Open(t.Context(), Options{Home: home, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if !strings.Contains(log.String(), "older version") || !strings.Contains(log.String(), path) {
		t.Errorf("said: %s", log.String())
	}
	if s, err := n.Status(t.Context()); err != nil || !s.Healthy || len(s.Attached) != 1 || s.Attached[0].Path != path {
		t.Fatalf("%+v, %v", s, err)
	} else {
		mustHold(t, home, s.Attached[0].Name, "list.json")
	}
	if got, refused := hits(t, n, "badgers"); len(got) == 0 || refused > 0 {
		t.Errorf("found %q, %d refused", got, refused)
	}
	if c, err := n.Check(t.Context()); err != nil || len(c.Problems) > 0 {
		t.Errorf("%q, %v", c.Problems, err)
	}
}
