package extract

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestPagesBecomeTheirGoldenMarkdown(t *testing.T) {
	pages, err := filepath.Glob("testdata/golden/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, path := range pages {
		t.Run(filepath.Base(path), func(t *testing.T) {
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Extract(t.Context(), "text/html", "http://example.org/docs/x.html", page)
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Appendf(nil, "title: %s\nextractor: %s\ncanonical: %s\n\n%s\n", got.Title, got.Extractor, got.Canonical, got.Markdown)
			golden := strings.TrimSuffix(path, ".html") + ".golden"
			if *update {
				if err := os.WriteFile(golden, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text, want) {
				t.Errorf("differs from %s (a change needs a new extractor version; then run with -update):\n%s", golden, text)
			}
		})
	}
}

// The names of extractors stand for these versions: text goes into roots, so
// another version is another name.
func TestExtractorNamesStandForTheirLibraries(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"codeberg.org/readeck/go-readability/v2 v2.1.3\n",
		"golang.org/x/net v0.62.0",
		"github.com/klippa-app/go-pdfium v1.21.4\n",
		"github.com/gogs/chardet v0.0.0-20211120154057-b7413eaefb8f",
	} {
		if !bytes.Contains(mod, []byte(want)) {
			t.Errorf("go.mod no longer has %s: give the extractors a new version and change their table in extract.go", want)
		}
	}
}
