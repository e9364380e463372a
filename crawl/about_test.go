package crawl

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"arborist/internal/arbtest/site"
)

// The author of a page is what the page says, or what the caller says of all.
func TestTheAuthorOfAPageIsKept(t *testing.T) {
	by := func(author string) site.Page {
		p := site.Links("home", "/anonymous", "/notes.txt")
		p.Body = strings.Replace(p.Body, "<head>", `<head><meta name="Author" content="`+author+`">`, 1)
		return p
	}
	s := site.New(map[string]site.Page{"/": by("Ada  Lovelace"), "/anonymous": site.Links("anonymous"), "/notes.txt": {Type: "text/plain", Body: "Notes."}})
	base := s.Start(t)
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	authors := func(cfg Config) (all []string) {
		t.Helper()
		cfg.Seed, cfg.Depth, cfg.Documents = base+"/", 1, true
		if _, _, err := into(t, t.Context(), p, cfg); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/anonymous", "/notes.txt"} {
			about, err := p.About(t.Context(), base+path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, about.Author)
		}
		return all
	}
	equal(t, "by the pages", authors(Config{}), []string{"Ada Lovelace", "", ""})
	equal(t, "by the caller", authors(Config{Author: "Grace Hopper"}), []string{"Grace Hopper", "Grace Hopper", "Grace Hopper"})
	s.Set("/", site.Links("home", "/anonymous", "/notes.txt"))
	equal(t, "by pages that say nothing any more", authors(Config{}), []string{"", "", ""})

	for _, bad := range []string{"two\nlines", " ", "a\x00b", "\xff", strings.Repeat("x", 201)} {
		if _, err := New(Config{Seed: base, Author: bad}, nil); !errors.Is(err, ErrAuthor) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}
