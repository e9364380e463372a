package worker

import (
	"os"
	"path/filepath"
	"testing"
)

// What is in the cache is executed.
func TestACacheThatOthersCanWriteToIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	own, open, file, link := filepath.Join(dir, "own"), filepath.Join(dir, "open"), filepath.Join(dir, "file"), filepath.Join(dir, "link")
	for _, err := range []error{os.Mkdir(own, 0o700), os.Mkdir(open, 0o700), os.Chmod(open, 0o770), os.WriteFile(file, nil, 0o600), os.Symlink(own, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{own: true, open: false, file: false, link: false, filepath.Join(dir, "none"): false} {
		if _, err := openCache(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := renewCache(path); (err == nil) != want {
			t.Errorf("renew %s: %v", path, err)
		}
	}
}
