package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"arborist/daemon/api"
)

// TestNothingInsideAHomeBecomesADocument: keys and databases of any home, ours
// or another, by any path, into any store.
func TestNothingInsideAHomeBecomesADocument(t *testing.T) {
	home, other := newHome(t), newHome(t)
	n := openNode(t, home)
	inside := filepath.Join(string(home), "private", "notes")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(inside, "n.md"), "a note")
	link := filepath.Join(t.TempDir(), "link.md")
	if err := os.Symlink(home.PeerKey(), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		string(home), home.Keys(), home.PeerKey(), home.CorpusKey(MainCorpus), home.Config(), home.Shards(), inside,
		filepath.Join(inside, "n.md"), other.PeerKey(), other.Keys(), link,
	} {
		for _, private := range []bool{false, true} {
			res, err := n.Add(t.Context(), api.AddRequest{Paths: []string{path}, Private: private}, nil)
			if err == nil || api.AsError(err).Code != api.CodeDenied || res.Documents != 0 {
				t.Errorf("add %s (private %v): %+v, %v", path, private, res, err)
			}
		}
	}
}

func TestBaseURIThatIsNoneIsRefused(t *testing.T) {
	n := openNode(t, newHome(t))
	docs := t.TempDir()
	writeFile(t, filepath.Join(docs, "p.md"), "a page")
	for _, base := range []string{"bad", "http://[::x", "javascript:alert(1)", "https://", "https://h/?q=", "https://h/#f", "data:text/html,x"} {
		_, err := n.Add(t.Context(), api.AddRequest{Paths: []string{docs}, BaseURI: base}, nil)
		if err == nil || api.AsError(err).Code != api.CodeUsage {
			t.Errorf("%q: %v", base, err)
		}
	}
	for base, uri := range map[string]string{"https://h/docs": "https://h/docs/p.md", "file:x/": "file:x/p.md"} {
		add(t, n, api.AddRequest{Paths: []string{docs}, BaseURI: base})
		if _, err := n.History(t.Context(), uri); err != nil {
			t.Errorf("%q: %v", base, err)
		}
	}
}
