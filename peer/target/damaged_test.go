package target

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3" // damages a file

	"arborist/peer"
	"arborist/shard/corpus"
)

// A published tree is what a damaged log comes back from, and most of its files are
// never written again: what a disk has changed must not get there.
func TestWhatADiskHasChangedIsNotPublished(t *testing.T) {
	for name, damage := range map[string]string{
		"head":             "UPDATE corpus SET note = CAST(replace(CAST(note AS TEXT), substr(CAST(note AS TEXT), -9), 'AAAAAAA=' || char(10)) AS BLOB)",
		"tile of records":  "UPDATE tile SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB) WHERE level = 0 AND idx = 0",
		"last tile":        "UPDATE tile SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB) WHERE level = 0 AND idx = 1",
		"tile of tiles":    "UPDATE tile SET hashes = zeroblob(32) WHERE level = 1",
		"record":           "UPDATE record SET line = CAST(replace(CAST(line AS TEXT), 'doc:/a/7\"', 'doc:/a/6\"') AS BLOB)",
		"filter":           "UPDATE filter SET bytes = zeroblob(length(bytes))",
		"order of records": "UPDATE record SET line = (SELECT line FROM record r WHERE r.idx = 4) WHERE idx = 3",
		"length of a tile": "UPDATE tile SET hashes = x'00' WHERE level = 0 AND idx = 0",
		"missing record":   "DELETE FROM record WHERE idx = 280",
	} {
		h := newHome(t)
		h.add("a", 300)
		if err := h.shared.Corpora().MakeFilter(t.Context(), h.origin(), h.signer); err != nil {
			t.Fatal(err)
		}
		whole, part := t.TempDir(), t.TempDir()
		h.publish(openDir(t, whole), false)
		if err := h.shared.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite3", filepath.Join(h.dir, "shards", "corpora.db"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := db.Exec(damage)
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if n, _ := res.RowsAffected(); n == 0 {
			t.Fatalf("%s: nothing is damaged", name)
		}
		h = openHome(t, h.dir)
		_, err = peer.Publish(t.Context(), h.shared, openDir(t, part), peer.PublishRequest{Corpus: h.origin()})
		if !errors.Is(err, corpus.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		mustBePartOf(t, name, part, whole)
	}
}

// mustBePartOf fails where a folder has a file that another has not, or has with
// another content.
func mustBePartOf(t *testing.T, name, part, whole string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(part), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		got, err := os.ReadFile(filepath.Join(part, path))
		if err != nil {
			return err
		}
		if want, err := os.ReadFile(filepath.Join(whole, path)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %s is published and not what it was: %v", name, path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
