package ingest

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"arborist/document"
)

func TestLocationsThatNoStoreKeepsAreTheDocumentsFailure(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, l := range map[string]document.Location{
		"no URI":            {},
		"URI too long":      {URI: "x:" + strings.Repeat("a", maxURI)},
		"line in URI":       {URI: "x:a\nb"},
		"C1 in URI":         {URI: "x:a\u0085b"},
		"separator in URI":  {URI: "x:a\u2028b"},
		"URI not UTF-8":     {URI: "x:\xff"},
		"source too long":   {URI: "x:a", Source: strings.Repeat("s", maxSource+1)},
		"control in source": {URI: "x:a", Source: "a\x1bb"},
	} {
		if _, err := checkLocation(l, now); !errors.Is(err, ErrLocation) {
			t.Errorf("%s: %v, want ErrLocation", name, err)
		}
	}
}

func TestLocationsAreBroughtIntoShape(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	zone := time.FixedZone("", 3600)
	in := document.Location{
		URI: "x:" + strings.Repeat("a", maxURI-2), Title: " a\n\tb\x1b[31m\u2028c ", Source: "test",
		FetchedAt:   time.Date(2020, 1, 1, 1, 0, 0, 5, zone),
		ContentType: "text/html\r\nSet-Cookie: x", ETag: strings.Repeat("e", maxField+1), Modified: "ok", Status: 200,
	}
	got, err := checkLocation(in, now)
	if err != nil {
		t.Fatal(err)
	}
	want := in
	want.Title, want.ContentType, want.ETag = "a b[31m c", "", ""
	want.FetchedAt = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for _, at := range []time.Time{{}, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if got, err := checkLocation(document.Location{URI: "x:a", FetchedAt: at}, now.Add(time.Millisecond)); err != nil || !got.FetchedAt.Equal(now) {
			t.Errorf("time %v became %v, %v", at, got.FetchedAt, err)
		}
	}
}

func FuzzCleanTitle(f *testing.F) {
	f.Add("a title")
	f.Add(strings.Repeat("é", maxTitle) + "\xff")
	f.Add(strings.Repeat(" ", 9*maxTitle) + "late")
	f.Fuzz(func(t *testing.T, s string) {
		got := cleanTitle(s)
		if len(got) > maxTitle || !utf8.ValidString(got) || strings.ContainsFunc(got, isControl) || got != strings.TrimSpace(got) {
			t.Fatalf("%q became %q", s, got)
		}
		if again := cleanTitle(got); again != got {
			t.Fatalf("%q became %q the second time", got, again)
		}
	})
}
