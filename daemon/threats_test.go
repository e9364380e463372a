package daemon

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatsNameTestsThatExist holds docs/threats.md against the tests of the
// packages that it names.
func TestThreatsNameTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("../docs/threats.md")
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Za-z0-9]+)`")
	known := make(map[string]string) // package to the text of its tests
	rows := 0
	for _, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "|---") || strings.Contains(line, "| tests |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		named := 0
		for _, part := range strings.Split(cells[len(cells)-1], ";") {
			pkg, names, ok := strings.Cut(strings.TrimSpace(part), ":")
			if !ok {
				t.Errorf("no package is named in %q", part)
				continue
			}
			if known[pkg] == "" {
				known[pkg] = testsOf(t, pkg)
			}
			for _, m := range test.FindAllStringSubmatch(names, -1) {
				named++
				if !strings.Contains(known[pkg], "\nfunc "+m[1]+"(") {
					t.Errorf("threat %s: package %s has no test %s", cells[0], pkg, m[1])
				}
			}
		}
		if named == 0 {
			t.Errorf("threat %s has no test", cells[0])
		}
	}
	if rows < 20 {
		t.Errorf("%d rows were read", rows)
	}
}

func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("package %q has no tests: %v", pkg, err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}
