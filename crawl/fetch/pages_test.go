package fetch_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"arborist/crawl/fetch"
)

// The folders under testdata/pages say what their pages are.
func TestPagesAreToldFromShellsAndWalls(t *testing.T) {
	files, err := filepath.Glob("testdata/pages/*/*.html")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kind := filepath.Base(filepath.Dir(file))
		if got := fetch.IsShell(body); got != (kind == "shell") {
			t.Errorf("%s: shell: %v", file, got)
		}
		if got := fetch.IsConsentWall(body); got != (kind == "wall") {
			t.Errorf("%s: consent wall: %v", file, got)
		}
		if upper := bytes.ToUpper(body); kind == "wall" && !strings.Contains(file, "german") && !fetch.IsConsentWall(upper) {
			t.Errorf("%s in capitals is no wall any more", file)
		}
	}
}

// fixed answers every request with the same response.
type fixed fetch.Response

func (f fixed) Fetch(_ context.Context, req fetch.Request) (fetch.Response, error) {
	return fetch.Response(f), nil
}

func TestConsentWallIsDenied(t *testing.T) {
	body, err := os.ReadFile("testdata/pages/wall/english.html")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		resp fetch.Response
		req  fetch.Request
		wall bool
	}{
		"page":                {fetch.Response{Status: 200, ContentType: "text/html; charset=utf-8", Body: body}, fetch.Request{}, true},
		"without type":        {fetch.Response{Status: 200, Body: body}, fetch.Request{}, true},
		"as plain text":       {fetch.Response{Status: 200, ContentType: "text/plain", Body: body}, fetch.Request{}, false},
		"robots.txt or so":    {fetch.Response{Status: 200, ContentType: "text/html", Body: body}, fetch.Request{AnyType: true}, false},
		"not found":           {fetch.Response{Status: 404}, fetch.Request{}, false},
		"unwanted, not read":  {fetch.Response{Status: 200, ContentType: "text/html", Skipped: "x"}, fetch.Request{}, false},
		"page with its text":  {fetch.Response{Status: 200, ContentType: "text/html", Body: append([]byte("<p>"+strings.Repeat("More to read here. ", 40)+"</p>"), body...)}, fetch.Request{}, false},
		"long, and all of it": {fetch.Response{Status: 200, ContentType: "text/html", Body: bytes.Repeat(body, 20)}, fetch.Request{}, false},
	} {
		c.req.URL = "http://example.org/p"
		_, err := fetch.WithoutWalls(fixed(c.resp)).Fetch(t.Context(), c.req)
		if !c.wall {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		e, ok := err.(*fetch.Error)
		if !ok || e.Class != fetch.Denied || e.Reason != "consent_wall" || e.URL != c.req.URL {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a page holds, looking at it takes time in proportion to its size
// and never fails.
func FuzzRulesReadAnyPage(f *testing.F) {
	files, _ := filepath.Glob("testdata/pages/*/*.html")
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte("<a href=x><a><button><noscript><script type='"))
	f.Fuzz(func(t *testing.T, body []byte) {
		shell, wall := fetch.IsShell(body), fetch.IsConsentWall(body)
		if shell && !bytes.Contains(bytes.ToLower(body), []byte("<script")) {
			t.Errorf("a shell without a script: %q", body)
		}
		if wall && !bytes.ContainsAny(body, "<") {
			t.Errorf("a wall without a button: %q", body)
		}
	})
}

// Text for browsers without scripts may come in many pieces.
func TestALookForShellsTakesMemoryInStepWithThePage(t *testing.T) {
	page := []byte("<script></script>" + strings.Repeat("<noscript>a</noscript>", 20_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fetch.IsShell(page)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(200*len(page)) {
		t.Errorf("%d MB for a page of %d KB", used>>20, len(page)>>10)
	}
}
