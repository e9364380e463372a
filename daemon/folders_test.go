package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/daemon/api"
)

// Another folder of the same name takes over the names of the first one, at once
// or years later: that is said.
func TestAFolderThatTakesOverNamesIsWarnedOf(t *testing.T) {
	n := openNode(t, newHome(t))
	dir := t.TempDir()
	for _, at := range []string{"a/docs", "b/docs", "c/other"} {
		if err := os.MkdirAll(filepath.Join(dir, at), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, at, "README.md"), "This is "+at)
	}
	if _, err := n.CreateCorpus(t.Context(), "papers"); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		path, corpus, base string
		warned             bool
	}{
		{"a/docs", "", "", false},
		{"a/docs", "", "", false},
		{"a/docs/README.md", MainCorpus, "", false}, // the same folder and corpus, said otherwise
		{"c/other", "", "", false},
		{"b/docs", "papers", "", false},
		{"b/docs", "", "file:second/", false},
		{"b/docs", "", "", true},
		{"b/docs", "", "", false},
		{"a/docs", "", "", true},
		{"a/docs", n.id + "/" + MainCorpus, "", false}, // a corpus has one list, however it is named
		{"b/docs", n.id + "/" + MainCorpus, "", true},
		{"b/docs", "", "", false},
	} {
		res := add(t, n, api.AddRequest{Paths: []string{filepath.Join(dir, step.path)}, Corpus: step.corpus, BaseURI: step.base})
		warnings := strings.Join(res.Warnings, "\n")
		if (warnings != "") != step.warned || step.warned && !strings.Contains(warnings, "file:docs/ was "+dir) {
			t.Errorf("step %d: warned %q, want %v", i, warnings, step.warned)
		}
		if i == 4 { // what it remembers only serves to warn
			writeFile(t, n.home.folders(), "garbage")
		}
		if i == 5 {
			add(t, n, api.AddRequest{Paths: []string{filepath.Join(dir, "a/docs")}})
		}
	}
	// A list that was kept by origin before.
	writeFile(t, n.home.folders(), `{"`+n.id+`/main": {"docs": "/elsewhere/docs"}}`)
	if res := add(t, n, api.AddRequest{Paths: []string{filepath.Join(dir, "b/docs")}}); len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "was /elsewhere/docs") {
		t.Errorf("warned %q", res.Warnings)
	}
	private := add(t, n, api.AddRequest{Paths: []string{filepath.Join(dir, "b/docs")}, Private: true})
	if len(private.Warnings) > 0 {
		t.Errorf("private documents keep their paths: %q", private.Warnings)
	}
}
