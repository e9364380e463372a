package extract

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"arborist/document"
)

// checkExtract demands what Extract guarantees of any input.
func checkExtract(t *testing.T, contentType string, body []byte) {
	t.Helper()
	got, err := Extract(t.Context(), contentType, "http://example.org/a/", bytes.Clone(body))
	if err != nil {
		if !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrEmpty) && !errors.Is(err, ErrTooLarge) {
			t.Fatalf("an error of no kind: %v", err)
		}
		return
	}
	if !utf8.ValidString(got.Title) || len(bytes.TrimSpace(got.Markdown)) == 0 || got.Extractor == "" || got.ContentType == "" {
		t.Fatalf("incomplete: %+v", got)
	}
	if got.Extractor[:4] == "html" && len(got.Markdown) > 8*3*len(body)+64<<10 { // 3: the most that decoding adds
		t.Fatalf("%d bytes became %d", len(body), len(got.Markdown))
	}
	again, err := Extract(context.Background(), contentType, "file:other", body)
	if err != nil || !bytes.Equal(again.Markdown, got.Markdown) || again.Extractor != got.Extractor {
		t.Fatalf("a second time it differs: %v", err)
	}
	if _, err := document.New(got.Markdown); err != nil && !errors.Is(err, document.ErrEmpty) {
		t.Fatal(err)
	}
}

func FuzzExtractHTML(f *testing.F) {
	pages, _ := filepath.Glob("testdata/golden/*.html")
	for _, p := range pages {
		if b, err := os.ReadFile(p); err == nil {
			f.Add(b)
		}
	}
	for name, build := range hostilePages(1000) {
		if page := build(); len(page) < 8<<10 && name != "bytes" {
			f.Add([]byte(page))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkExtract(t, "text/html", body) })
}

func FuzzExtractXHTML(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0" encoding="latin1"?><html><script/><p title="a"/>x<br/></html>`))
	f.Fuzz(func(t *testing.T, body []byte) { checkExtract(t, "application/xhtml+xml", body) })
}

func FuzzExtractMarkdown(f *testing.F) {
	f.Add([]byte("---\ntitle: x\n---\n# y\n"))
	f.Fuzz(func(t *testing.T, body []byte) { checkExtract(t, "text/markdown", body) })
}

func FuzzExtractText(f *testing.F) {
	f.Add([]byte("caf\xe9"), "text/plain")
	f.Add([]byte("c\x00a\x00"), "text/plain; charset=utf-16le")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) { checkExtract(t, contentType, body) })
}

// What the scan lets through, the tree path and the tokens both must bear.
func FuzzTokens(f *testing.F) {
	f.Add([]byte("<h1>a</h1><pre>b\n```\n</pre><li>c<td>d"))
	f.Fuzz(func(t *testing.T, page []byte) {
		got, err := fromTokens(t.Context(), "", page)
		if err != nil || len(got.Markdown) > 8*len(page)+64 {
			t.Fatalf("%d bytes became %d, %v", len(page), len(got.Markdown), err)
		}
	})
}
