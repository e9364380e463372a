package extract

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// docPages calls f for HTML files below dir, at most limit of them.
func docPages(t testing.TB, dir string, limit int, f func(path string, page []byte)) {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && (strings.HasSuffix(p, ".html") || strings.HasSuffix(p, ".htm")) {
			paths = append(paths, p)
		}
		return nil
	})
	if err != nil || len(paths) == 0 {
		t.Skipf("no HTML documentation in %s", dir)
	}
	step := max(1, len(paths)/limit)
	for i := 0; i < len(paths); i += step {
		page, err := os.ReadFile(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		f(paths[i], page)
	}
}

// proseWords counts a page's words outside links and frames, in its one main
// element where it has one: what no extractor should lose.
func proseWords(t testing.TB, page []byte) map[string]int {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil // too deep for a tree
	}
	words := map[string]int{}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			for _, w := range wordPattern.FindAllString(n.Data, -1) {
				words[w]++
			}
		}
		if n.Type == html.ElementNode && (isFrame(n) || isInvisible(n) || n.DataAtom == atom.A) {
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(bodyOf(doc))
	return words
}

// keptWords returns the share of words that are in text, and their number.
func keptWords(words map[string]int, text []byte) (share float64, total int) {
	have := map[string]int{}
	for _, w := range wordPattern.FindAllString(string(text), -1) {
		have[w]++
	}
	kept := 0
	for w, n := range words {
		kept += min(n, have[w])
		total += n
	}
	if total == 0 {
		return 1, 0
	}
	return float64(kept) / float64(total), total
}

func TestDocumentationKeepsItsProse(t *testing.T) {
	for _, c := range []struct {
		dir   string
		limit int
		want  float64 // share of words kept, mean over pages
	}{
		{filepath.Join(goroot(t), "doc"), 100, .99},
		{"/usr/share/doc", 40, .90}, // whatever this machine has,
		{"/usr/share/doc/openjdk-17-doc/api/", 60, .99},
		{os.Getenv("ARBORIST_TEST_DOCS"), 300, .95}, // any other tree, by hand
	} {
		t.Run(c.dir, func(t *testing.T) {
			if c.dir == "" {
				t.Skip("ARBORIST_TEST_DOCS is not set")
			}
			var pages, low, in, out int
			var sum float64
			extractors := map[string]int{}
			docPages(t, c.dir, c.limit, func(path string, page []byte) {
				got, err := Extract(t.Context(), "text/html", "file:"+path, page)
				if err != nil {
					t.Logf("%s: %v", path, err)
					return
				}
				share, total := keptWords(proseWords(t, page), got.Markdown)
				extractors[got.Extractor]++
				pages++
				sum += share
				in += len(page)
				out += len(got.Markdown)
				if share < .7 {
					low++
					t.Logf("%.2f of %d words, %s: %s", share, total, got.Extractor, path)
				}
			})
			mean := sum / float64(max(1, pages))
			t.Logf("%d pages keep %.4f of their words, %d below .70; %d bytes to %d; %v", pages, mean, low, in, out, extractors)
			if mean < c.want {
				t.Errorf("kept %.4f of the words of %d pages, want %.2f", mean, pages, c.want)
			}
		})
	}
}

func TestGoDocumentsHaveTheirTitle(t *testing.T) {
	want := map[string]string{
		"go_spec.html": "The Go Programming Language Specification",
		"go_mem.html":  "The Go Memory Model",
		"asm.html":     "A Quick Guide to Go's Assembler",
	}
	docPages(t, filepath.Join(goroot(t), "doc"), 100, func(path string, page []byte) {
		title, known := want[filepath.Base(path)]
		if !known {
			return
		}
		got, err := Extract(t.Context(), "", "file:"+path, page)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		if got.Title != title {
			t.Errorf("%s has title %q, want %q", path, got.Title, title)
		}
	})
}

// goroot asks the go command for its folder.
func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	return strings.TrimSpace(string(out))
}
