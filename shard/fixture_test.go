package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/document"
)

// newShared makes and opens an empty set in a temporary folder.
func newShared(t testing.TB, shards int) *Shared {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shards")
	if err := CreateShared(dir, shards); err != nil {
		t.Fatal(err)
	}
	return openTestShared(t, dir)
}

func openTestShared(t testing.TB, dir string) *Shared {
	t.Helper()
	s, err := OpenShared(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newPrivate(t testing.TB) *File {
	t.Helper()
	f, err := OpenFile(filepath.Join(t.TempDir(), "web.db"), KindPrivate, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func newDocument(t testing.TB, text string) *document.Document {
	t.Helper()
	d, err := document.New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var fetched = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func entry(t testing.TB, uri, text string) document.Entry {
	t.Helper()
	return document.Entry{Document: newDocument(t, text), Location: document.Location{
		URI: uri, Title: "title of " + uri, Source: "test", FetchedAt: fetched, ContentType: "text/plain", Extractor: "plain/1",
	}}
}

type putter interface {
	Put(context.Context, []document.Entry) ([]document.Outcome, error)
}

func put1(t testing.TB, p putter, entries ...document.Entry) []document.Outcome {
	t.Helper()
	out, err := p.Put(t.Context(), entries)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mustCheck fails the test on every problem that Check finds.
func mustCheck(t testing.TB, c interface {
	Check(context.Context, func(string)) (int, error)
}) int {
	t.Helper()
	n, err := c.Check(t.Context(), func(p string) { t.Errorf("check: %s", p) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// generated returns n documents of invented words, whose frequencies fall off
// as those of a language do. Some repeat each other's chunks.
func generated(t testing.TB, n int) []document.Entry {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 3000)
	var all []document.Entry
	for i := range n {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			for range 5 + r.IntN(150) {
				fmt.Fprintf(&b, "%s ", inventedWord(zipf.Uint64()))
			}
			b.WriteString("\n\n")
			if r.IntN(10) == 0 {
				b.WriteString("# Legal notice\n\nAll rights of everybody are reserved by nobody.\n\n")
			}
		}
		all = append(all, entry(t, fmt.Sprintf("test:generated/%d", i), b.String()))
	}
	return all
}

func inventedWord(n uint64) string {
	syllables := [...]string{"ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu"}
	w := ""
	for n += 7; n > 0; n /= 10 {
		w += syllables[n%10]
	}
	return w
}

// realTexts returns text files that most machines have, at most n of them.
// What is missing is named and left out.
func realTexts(t testing.TB, n int) []document.Entry {
	t.Helper()
	var roots []string
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		goroot := strings.TrimSpace(string(out))
		roots = append(roots, filepath.Join(goroot, "doc"), filepath.Join(goroot, "api"), filepath.Join(goroot, "src/net/http"))
	}
	roots = append(roots, "/usr/share/doc")
	var all []document.Entry
	for i, root := range roots {
		found, quota := 0, (n-len(all))/(len(roots)-i)
		filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err != nil || found >= quota {
				return filepath.SkipAll
			}
			ext := filepath.Ext(path)
			if !e.Type().IsRegular() || !slices.Contains([]string{".md", ".txt", ".html", ".go", ""}, ext) {
				return nil
			}
			raw, err := os.ReadFile(path)
			if err != nil || len(raw) > 50_000 {
				return nil
			}
			d, err := document.New(raw)
			if err != nil {
				return nil
			}
			found++
			all = append(all, document.Entry{Document: d, Location: document.Location{
				URI: "file:" + path, Title: filepath.Base(path), Source: "test", FetchedAt: fetched}})
			return nil
		})
		if found == 0 {
			t.Logf("no real text under %s", root)
		}
	}
	return all
}
