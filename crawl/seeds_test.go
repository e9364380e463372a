package crawl

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arborist/crawl/audit"
	"arborist/internal/arbtest/site"
)

func TestSeveralSeedsAreOneCrawl(t *testing.T) {
	s := site.New(map[string]site.Page{
		"/a": site.Links("a", "/shared", "/b"), "/b": site.Links("b", "/shared", "/deep"), "/shared": site.Links("shared"), "/deep": site.Links("deep", "/deeper"),
		"/deeper": site.Links("deeper"),
	})
	other := site.New(map[string]site.Page{"/": site.Links("other", "/more"), "/more": site.Links("more")})
	base, far := s.Start(t), other.Start(t)
	got := crawl(t, t.Context(), Config{Seed: base + "/a", Seeds: []string{base + "/b", far + "/", base + "/a"}, Depth: 1, Fast: true}, nil)
	if got.err != nil {
		t.Fatal(got.err)
	}
	equal(t, "pages", sorted(got.paths()), []string{"/", "/a", "/b", "/deep", "/more", "/shared"})
	once(t, s)
	once(t, other)
}

func TestASeedThatFailsStopsTheOthersOnlyWhereAllDo(t *testing.T) {
	s := site.New(map[string]site.Page{"/": site.Links("home")})
	base := s.Start(t)
	got := crawl(t, t.Context(), Config{Seed: base + "/gone", Seeds: []string{base + "/", base + "/lost"}, Fast: true}, nil)
	if got.err != nil || len(got.pages) != 1 || got.report.FailedTotal != 2 {
		t.Errorf("%d pages, %d failed, %v", len(got.pages), got.report.FailedTotal, got.err)
	}
	got = crawl(t, t.Context(), Config{Seed: base + "/gone", Seeds: []string{base + "/lost"}, Fast: true}, nil)
	var e *SeedError
	if !errors.As(got.err, &e) || !errors.Is(e, ErrSeedNotPage) || !strings.Contains(e.Error(), "last of the seeds") {
		t.Errorf("no seed comes: %v", got.err)
	}
	if got := crawl(t, t.Context(), Config{Seed: base + "/", Seeds: []string{"nonsense"}}, nil); !errors.Is(got.err, ErrSeedURL) {
		t.Errorf("a seed that is no address: %v", got.err)
	}
	if s.Count("/") != 1 {
		t.Error("a crawl with a seed that is no address was begun")
	}
}

func TestACrawlOfSeveralSeedsIsFoundByTheSameSeeds(t *testing.T) {
	s := site.New(map[string]site.Page{"/a": site.Links("a", "/x", "/y"), "/b": site.Links("b", "/z"), "/x": site.Links("x"), "/y": site.Links("y"), "/z": site.Links("z")})
	base := s.Start(t)
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	both := Config{Seed: base + "/a", Seeds: []string{base + "/b"}, Depth: 1}
	first := both
	first.MaxPages = 3
	if r, _, err := into(t, t.Context(), p, first); err != nil || r.Pages != 3 {
		t.Fatal(r.Pages, err)
	}
	swapped := Config{Seed: base + "/b", Seeds: []string{base + "/a"}, Depth: 1, Resume: true}
	if r, _, err := into(t, t.Context(), p, swapped); err != nil || r.Pages != 5 || r.Earlier != 3 {
		t.Errorf("%d pages, %d of them earlier: %v", r.Pages, r.Earlier, err)
	}
	for _, target := range []string{"/a", "/b", "/x", "/y", "/z"} {
		if n := s.Count(target); n != 1 {
			t.Errorf("%s was requested %d times", target, n)
		}
	}
	for name, cfg := range map[string]Config{
		"one of them": {Seed: base + "/a", Depth: 1, Resume: true}, "one more": {Seed: base + "/a", Seeds: []string{base + "/b", base + "/x"}, Depth: 1, Resume: true},
	} {
		if _, _, err := into(t, t.Context(), p, cfg); !errors.Is(err, ErrNothingToResume) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := into(t, t.Context(), p, Config{Seed: base + "/a", Seeds: []string{base + "/b"}, Depth: 2, Resume: true}); !errors.Is(err, ErrOtherCrawl) {
		t.Errorf("another depth: %v", err)
	}
	r := audited(t, Config{Seed: swapped.Seed, Seeds: swapped.Seeds, AllowNets: loopback, Store: p})
	if r.Pages != 5 || !slices.ContainsFunc(r.Depths, func(d audit.Depth) bool { return d.Depth == 0 && d.Pages == 2 }) {
		t.Errorf("report: %d pages, depths %v", r.Pages, r.Depths)
	}
}
