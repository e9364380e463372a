package crawl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"arborist/internal/arbtest/site"
)

// byWord gives the vector of the first of its words that a text has.
type byWord map[string][]float32

func (e byWord) Embed(_ context.Context, text string) ([]float32, error) {
	for word, vector := range e {
		if strings.Contains(text, word) {
			return vector, nil
		}
	}
	return nil, errors.New("no vector for this text")
}

// angled is a vector at a given cosine to (1, 0), of some length.
func angled(cosine, length float64) []float32 {
	return []float32{float32(length * cosine), float32(length * math.Sqrt(1-cosine*cosine))}
}

func subjects() (*site.Site, byWord) {
	return site.New(map[string]site.Page{
		"/":     site.Links("granite", "/near", "/far", "/none"),
		"/near": site.Links("gneiss", "/below-near"), "/far": site.Links("football", "/below-far"),
		"/none":       {Body: `<html><body><a href="/below-none"></a></body></html>`},
		"/below-near": site.Links("opposite"), "/below-far": site.Links("granite"), "/below-none": site.Links("granite"),
	}), byWord{"granite": angled(1, 3), "gneiss": angled(0.581, 0.2), "football": angled(0.579, 40), "opposite": angled(-1, 1)}
}

func TestLinksAreFollowedFromPagesAboutTheSeedsSubjectAlone(t *testing.T) {
	s, vectors := subjects()
	got := fast(t, s, "/", 9, func(c *Config) { c.Embedder = vectors })
	if got.err != nil {
		t.Fatal(got.err)
	}
	equal(t, "pages", sorted(got.paths()), []string{"/", "/below-near", "/far", "/near", "/none"})
	if got.report.Unrelated != 3 { // far, none, below-near
		t.Errorf("%+v", got.report)
	}
	once(t, s)
	if all := fast(t, s, "/", 9); all.report.Pages != 7 || all.report.Unrelated != 0 {
		t.Errorf("without an embedder: %+v", all.report)
	}
}

func TestAResumedCrawlKeepsToItsSubject(t *testing.T) {
	s, vectors := subjects()
	base := s.Start(t)
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	cfg := Config{Seed: base + "/", Depth: 9, Embedder: vectors, MaxPages: 1}
	if _, _, err := into(t, t.Context(), p, cfg); err != nil {
		t.Fatal(err)
	}
	delete(vectors, "granite") // the seed is not asked for again, nor placed again
	cfg.MaxPages, cfg.Resume = 0, true
	if _, _, err := into(t, t.Context(), p, cfg); err != nil {
		t.Fatal(err)
	}
	if s.Count("/below-near") != 1 || s.Count("/below-far") != 0 || s.Count("/") != 1 {
		t.Errorf("requests %q", s.Targets())
	}
	// One that was begun without a gate has nothing to compare with.
	if _, _, err := into(t, t.Context(), p, Config{Seed: base + "/", Depth: 9}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := into(t, t.Context(), p, cfg); !errors.Is(err, ErrEmbedder) || !strings.Contains(err.Error(), "without --resume") {
		t.Errorf("%v", err)
	}
}

func TestAnEmbedderThatFailsEndsTheCrawl(t *testing.T) {
	for name, vectors := range map[string]byWord{
		"no vector":         {"granite": {1, 0}},
		"another length":    {"granite": {1, 0}, "gneiss": {1, 0, 0}, "football": {1, 0, 0}, "opposite": {1, 0}},
		"no direction":      {"granite": {1, 0}, "gneiss": {0, 0}, "football": {0, 0}, "opposite": {1, 0}},
		"seed of no length": {"granite": {}},
		"no number":         {"granite": {float32(math.NaN()), 0}},
	} {
		s, _ := subjects()
		if got := fast(t, s, "/", 9, func(c *Config) { c.Embedder = vectors }); !errors.Is(got.err, ErrEmbedder) {
			t.Errorf("%s: %v, %v", name, got.paths(), got.err)
		}
	}
	s, vectors := subjects()
	got := fast(t, s, "/none", 9, func(c *Config) { c.Embedder = vectors })
	if !errors.Is(got.err, ErrSeedNotPage) || !strings.Contains(fmt.Sprint(got.err), "no text") {
		t.Errorf("a seed without text: %v", got.err)
	}
}
