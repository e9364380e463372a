package shard

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arborist/document"
)

// No log tells where a private document was found. One whose address is lost is
// reported, and a repair makes it found again, old versions as old ones.
func TestPrivateDocumentsWhoseAddressesAreLostAreFoundAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.db")
	f, err := OpenFile(path, KindPrivate, "")
	if err != nil {
		t.Fatal(err)
	}
	old, other := entry(t, "https://example.org/a", "granite is old"), entry(t, "https://example.org/b", "granite stays")
	fresh := entry(t, "https://example.org/a", "granite is new")
	for _, e := range []document.Entry{old, other, fresh} {
		if _, err := f.Put(t.Context(), []document.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	tamper(t, path, "DELETE FROM locations WHERE uri LIKE '%/a'")
	if f, err = OpenFile(path, KindPrivate, ""); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check := func(r *Repair) (problems []string) {
		if _, err := f.CheckWith(t.Context(), CheckOptions{Repair: r}, func(p string) { problems = append(problems, p) }); err != nil {
			t.Fatal(err)
		}
		return problems
	}
	if problems := check(nil); !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, "2 documents are stored at no address") }) {
		t.Errorf("check: %q", problems)
	}
	var did []string
	if problems := check(&Repair{Did: func(l string) { did = append(did, l) }}); len(problems) > 0 {
		t.Errorf("after the repair: %q", problems)
	}
	if !slices.ContainsFunc(did, func(l string) bool { return strings.Contains(l, "the addresses of 2 documents are lost") }) {
		t.Errorf("repair: %q", did)
	}
	found := func() (uris []string) {
		r, err := Search(t.Context(), []*File{f}, Query{Text: "granite"})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			uris = append(uris, h.Location.URI)
		}
		slices.Sort(uris)
		return uris
	}
	if got, want := found(), []string{"https://example.org/b", "lost:" + fresh.Document.Root().String()}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if _, err := f.Put(t.Context(), []document.Entry{fresh}); err != nil {
		t.Fatal(err)
	}
	if got, want := found(), []string{"https://example.org/a", "https://example.org/b"}; !slices.Equal(got, want) {
		t.Errorf("crawled again: found %q, want %q", got, want)
	}
	if versions, err := f.History(t.Context(), "lost:"+fresh.Document.Root().String()); err != nil || len(versions) > 0 {
		t.Errorf("it is at %+v still, %v", versions, err)
	}
	if versions, err := f.History(t.Context(), "lost:"+old.Document.Root().String()); err != nil || len(versions) != 1 {
		t.Errorf("the old version, which was not found again: %+v, %v", versions, err)
	}
	if problems := check(nil); len(problems) > 0 {
		t.Errorf("in the end: %q", problems)
	}
}
