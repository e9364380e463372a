package daemon

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/daemon/api"
)

func TestInitTwiceChangesNothing(t *testing.T) {
	home := Home(filepath.Join(t.TempDir(), "home"))
	first, err := Init(t.Context(), home, 4)
	if err != nil || !first.New || first.Shards != 4 {
		t.Fatal(first, err)
	}
	key, err := os.ReadFile(home.CorpusKey(MainCorpus))
	if err != nil {
		t.Fatal(err)
	}
	for _, shards := range []int{0, 4} {
		again, err := Init(t.Context(), home, shards)
		if err != nil || again.New || again.PeerID != first.PeerID || again.Shards != 4 {
			t.Errorf("init with %d shards again: %+v, %v", shards, again, err)
		}
	}
	if now, _ := os.ReadFile(home.CorpusKey(MainCorpus)); string(now) != string(key) {
		t.Error("a second init changed the corpus key")
	}
	if _, err := Init(t.Context(), home, 8); api.AsError(err).Code != api.CodeUsage {
		t.Errorf("init with another number of shards: %v", err)
	}
}

// TestInitCutShortIsDoneAgain: whatever an init had made when it was killed,
// the next one completes it.
func TestInitCutShortIsDoneAgain(t *testing.T) {
	whole := newHome(t)
	id, err := existingID(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range []string{"config.toml", "config.toml shards", "config.toml keys/corpus-main.key shards/corpora.db", "config.toml crawl", "config.toml shards/03.db", "config.toml shards/00.db shards/02.db"} {
		home := Home(filepath.Join(t.TempDir(), "cut"))
		if err := os.CopyFS(string(home), os.DirFS(string(whole))); err != nil {
			t.Fatal(err)
		}
		os.Chmod(home.PeerKey(), 0o600)
		os.Chmod(home.CorpusKey(MainCorpus), 0o600)
		for _, m := range strings.Fields(missing) {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				os.RemoveAll(filepath.Join(string(home), m+suffix))
			}
		}
		res, err := Init(t.Context(), home, 0)
		if err != nil || res.PeerID != id {
			t.Errorf("without %s: %+v, %v", missing, res, err)
			continue
		}
		openNode(t, home)
	}
}

func TestOpenSaysWhatIsWrongWithAHome(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(Home) error
		code   api.Code
		says   string
	}{
		{"none", func(h Home) error { return os.RemoveAll(string(h)) }, api.CodeNoStore, "no store here"},
		{"a file", func(h Home) error {
			return errors.Join(os.RemoveAll(string(h)), os.WriteFile(string(h), nil, 0o600))
		}, api.CodeFailed, "not a directory"},
		{"newer", func(h Home) error { return os.WriteFile(h.Config(), []byte("format = 2\nnew_key = 1\n"), 0o600) }, api.CodeNewer, "newer version"},
		{"unknown key", func(h Home) error {
			return os.WriteFile(h.Config(), []byte("format = 1\n[peer]\nlisten_on = []\n"), 0o600)
		}, api.CodeUsage, "unknown key peer.listen_on"},
		{"no format", func(h Home) error { return os.WriteFile(h.Config(), nil, 0o600) }, api.CodeUsage, "format is 0"},
		{"not TOML", func(h Home) error { return os.WriteFile(h.Config(), []byte("{}"), 0o600) }, api.CodeUsage, "config.toml"},
		{"huge config", func(h Home) error { return os.Truncate(h.Config(), 1<<30) }, api.CodeUsage, "over"},
		{"lost peer key", func(h Home) error { return os.Remove(h.PeerKey()) }, api.CodeInvalid, "peer key is missing"},
		{"open peer key", func(h Home) error { return os.Chmod(h.PeerKey(), 0o644) }, api.CodeFailed, "peer.key"},
	} {
		home := newHome(t)
		n, err := Open(t.Context(), Options{Home: home}) // makes the crawl db
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.damage(home); err != nil {
			t.Fatal(err)
		}
		n, err = Open(t.Context(), Options{Home: home})
		if err == nil {
			n.Close()
			t.Errorf("%s: opened", c.name)
			continue
		}
		e := api.AsError(err)
		if e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %s %q, want %s and %q", c.name, e.Code, e.Message, c.code, c.says)
		}
		if e.Hint == "" && !strings.Contains(e.Message, ";") && e.Code != api.CodeFailed {
			t.Errorf("%s: %q names no next step", c.name, e.Message)
		}
	}
}

func execIn(path, statement string) error {
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statement)
	return errors.Join(err, db.Close())
}

// A shard, or the crawl db, that cannot be used keeps nothing else from working.
func TestStatusNamesFilesThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(Home) error
		says   string
	}{
		"lost shard": {func(h Home) error { return os.Remove(filepath.Join(h.Shards(), "01.db")) }, "01.db: the file cannot be used (corrupt): it is missing"},
		"private shard": {func(h Home) error {
			b, err := os.ReadFile(h.CrawlDB())
			return errors.Join(err, os.WriteFile(filepath.Join(h.Shards(), "01.db"), b, 0o600))
		}, "this one is private"},
		"garbage shard":                         {func(h Home) error { return os.WriteFile(filepath.Join(h.Shards(), "01.db"), []byte("garbage"), 0o600) }, "no SQLite file"},
		"garbage crawl db":                      {func(h Home) error { return os.WriteFile(h.CrawlDB(), []byte("garbage"), 0o600) }, "web.db: the file cannot be used"},
		"crawl db that does not say what it is": {func(h Home) error { return execIn(h.CrawlDB(), "DELETE FROM state") }, "web.db: the file cannot be used"},
		"shard that does not say what it is":    {func(h Home) error { return execIn(filepath.Join(h.Shards(), "01.db"), "DELETE FROM state") }, "01.db: the file cannot be used"},
		"crawl tables without a version": {func(h Home) error {
			b, err := os.ReadFile(h.CrawlDB())
			row := []byte{3, 1, 3, 0, 9} // of three bytes, number 1: a header of three, its id, the constant 1
			if bytes.Count(b, row) != 1 {
				return errors.Join(err, errors.New("the row of the version is not where it was"))
			}
			b[bytes.Index(b, row)+4] = 13 // a text of no bytes
			return os.WriteFile(h.CrawlDB(), b, 0o600)
		}, "web.db: the file cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			home := newHome(t)
			addPages(t, home, "granite", 9)
			if err := c.damage(home); err != nil {
				t.Fatal(err)
			}
			n := openNode(t, home)
			st, err := n.Status(t.Context())
			if err != nil || st.Healthy || len(st.Problems) != 1 || !strings.Contains(st.Problems[0], c.says) || !strings.Contains(st.Problems[0], "arborist check --repair") {
				t.Errorf("status %q, %v", st.Problems, err)
			}
			found, err := n.Query(t.Context(), api.QueryRequest{Text: "granite"})
			if err != nil || len(found.Hits) == 0 || len(found.Refused) != 1 {
				t.Errorf("query: %d hits, refused %v, %v", len(found.Hits), found.Refused, err)
			}
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := Salvage(t.Context(), home, false); err != nil {
				t.Fatal(err)
			}
			if st, err := openNode(t, home).Status(t.Context()); err != nil || !st.Healthy {
				t.Errorf("after the repair: %q, %v", st.Problems, err)
			}
		})
	}
}
