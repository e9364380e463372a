package proof

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The package that strangers trust imports the standard library, document and
// merkle, and of the standard library nothing that reaches outside.
func TestPackageImportsNothingThatReachesOutside(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	reports, err := filepath.Glob("report/*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range append(files, reports...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		seen++
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range file.Imports {
			path, err := strconv.Unquote(imported.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			report := strings.HasPrefix(name, "report")
			switch {
			case path == "arborist/document" || path == "arborist/merkle":
			case path == "arborist/proof" && report, (path == "os" || path == "flag") && report:
			case path == "os", path == "C", path == "unsafe", path == "net", path == "time" && !usesTime(name) && !report,
				strings.HasPrefix(path, "net/"), strings.HasPrefix(path, "os/"), strings.HasPrefix(path, "database/"),
				strings.HasPrefix(path, "arborist/"), strings.Contains(strings.Split(path, "/")[0], "."):
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d files looked at", seen)
	}
}

// usesTime lists the files that need the type of times, never the clock.
func usesTime(name string) bool {
	return name == "record.go" || name == "recordline.go" || name == "cosign.go"
}
