package peer

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheProtocolPageNamesEveryRefusal holds docs/protocol.md against the
// errors and the refusals that this package declares.
func TestTheProtocolPageNamesEveryRefusal(t *testing.T) {
	b, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	failure := regexp.MustCompile(`(?m)^(?:var|\t) ?(Err[A-Za-z]+) += errors\.New`)
	refused := regexp.MustCompile(`refusal\{http\.Status[A-Za-z]+, "([^"\\]+)`)
	named := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, m := range failure.FindAllStringSubmatch(string(source), -1) {
			said = append(said, "`"+m[1]+"`")
		}
		for _, m := range refused.FindAllStringSubmatch(string(source), -1) {
			said = append(said, "`"+m[1])
		}
		for _, name := range said {
			named++
			if !strings.Contains(page, name) {
				t.Errorf("%s: docs/protocol.md does not say when %s is given", file, name)
			}
		}
	}
	if named < 35 {
		t.Errorf("%d refusals were found", named)
	}
}
