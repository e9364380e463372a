package peer

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"arborist/shard"
)

// forbidden are the packages that could lead to private data. The shared store
// is the only store within reach.
var forbidden = []string{"arborist/crawl", "arborist/ingest", "arborist/rag", "arborist/daemon"}

// reaches returns what of the forbidden this package depends on, with extra
// files laid over it: what the second layer of the privacy wall asks.
func reaches(t *testing.T, overlay string) []string {
	t.Helper()
	args := []string{"list", "-deps", "-tags", "sqlite_fts5"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	out, err := exec.Command("go", append(args, "arborist/peer")...).Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderrOf(err))
	}
	var found []string
	for pkg := range strings.Lines(string(out)) {
		pkg = strings.TrimSpace(pkg)
		for _, f := range forbidden {
			if pkg == f || strings.HasPrefix(pkg, f+"/") {
				found = append(found, pkg)
			}
		}
	}
	return found
}

func stderrOf(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return string(e.Stderr)
	}
	return ""
}

// overlay lays one more file over this package.
func overlay(t *testing.T, source string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mutant := filepath.Join(t.TempDir(), "mutant.go")
	if err := os.WriteFile(mutant, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(dir, "mutant.go"): mutant}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(path, spec, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPeerNeverSeesCrawl(t *testing.T) {
	if found := reaches(t, ""); len(found) > 0 {
		t.Errorf("arborist/peer depends on %s", strings.Join(found, ", "))
	}
}

func TestTheImportWallNoticesACrawlImport(t *testing.T) {
	for _, pkg := range []string{"arborist/crawl", "arborist/ingest"} {
		mutant := overlay(t, "package peer\n\nimport _ \""+pkg+"\"\n")
		found := reaches(t, mutant)
		if len(found) == 0 || !strings.Contains(strings.Join(found, " "), pkg) {
			t.Errorf("with an import of %s in the package the wall finds %v", pkg, found)
		}
	}
}

func TestTheCompilerKeepsThePrivateStoreOut(t *testing.T) {
	mutant := overlay(t, "package peer\n\nimport _ \"arborist/crawl/internal/crawldb\"\n")
	out, err := exec.Command("go", "build", "-tags", "sqlite_fts5", "-overlay", mutant, "-o", os.DevNull, "arborist/peer").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "use of internal package") {
		t.Errorf("a build with an import of the private store: %v\n%s", err, out)
	}
}

func TestOnlyTheSharedStoreIsTaken(t *testing.T) {
	// A concrete type from a package that refuses private files, not an
	// interface that a private store could satisfy.
	want := reflect.TypeFor[*shard.Shared]()
	for name, fn := range map[string]any{"New": New, "Handler": Handler} {
		f := reflect.TypeOf(fn)
		found := false
		for i := range f.NumIn() {
			in := f.In(i)
			found = found || in == want
			if in.Kind() == reflect.Interface || in.Kind() == reflect.Pointer && in != want {
				t.Errorf("%s takes a %s", name, in)
			}
		}
		if !found {
			t.Errorf("%s does not take %s", name, want)
		}
	}
}

func TestAPrivateFileAmongTheShardsKeepsThePeerDown(t *testing.T) {
	n := newNode(t)
	n.close()
	path := filepath.Join(n.dir, "shards", "00.db")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f, err := shard.OpenFile(path, shard.KindPrivate, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := shard.OpenShared(filepath.Join(n.dir, "shards")); err == nil {
		s.Close()
		t.Error("a private file passed for a shared one")
	}
}
