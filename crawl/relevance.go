package crawl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"arborist/crawl/fetch"
	"arborist/ingest"
)

// An Embedder places texts so that those about one thing lie in one direction.
// It is safe for concurrent use.
type Embedder interface {
	// Embed gives the vector of a text. All vectors have one length.
	Embed(ctx context.Context, text string) ([]float32, error)
}

// RelatedCosine is the least cosine between the vectors of two pages that are
// about the same.
const RelatedCosine = 0.58

var (
	// ErrEmbedder: Config.Embedder failed, or gave vectors that cannot be compared.
	ErrEmbedder = errors.New("relevance cannot be judged")

	errNoText = errors.New("it has no text that others could be compared with")
)

// A relevance judges whether the links of a page are followed: only where the
// page is about what the seed is about.
type relevance struct {
	embedder Embedder
	extract  ingest.ExtractFunc

	mu   sync.Mutex
	seed []float32 // of the seed's page, once that has come
}

// judge says whether a page is related to the seed; its vector is given back
// where it is the seed's. A page without text is related to nothing. Errors wrap
// ErrEmbedder, but for the context's and, for the seed, errNoText.
func (g *relevance) judge(ctx context.Context, page fetch.Response, seed bool) (related bool, vector []float32, err error) {
	entry, err := entryOf(ctx, g.extract, rawOf(page.URL, page))
	switch {
	case ctx.Err() != nil:
		return false, nil, context.Cause(ctx)
	case err != nil && seed:
		return false, nil, errNoText
	case err != nil:
		return false, nil, nil
	}
	vector, err = g.embedder.Embed(ctx, string(entry.Document.Text()))
	switch {
	case ctx.Err() != nil:
		return false, nil, context.Cause(ctx)
	case err != nil:
		return false, nil, fmt.Errorf("%w: %w", ErrEmbedder, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if seed {
		g.seed = vector
	}
	c, err := cosine(g.seed, vector)
	if err != nil || !seed {
		vector = nil
	}
	return c >= RelatedCosine, vector, err
}

// cosine compares the directions of two vectors.
func cosine(a, b []float32) (float64, error) {
	if len(a) != len(b) {
		return 0, fmt.Errorf("%w: vectors of %d and %d numbers", ErrEmbedder, len(a), len(b))
	}
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	c := ab / math.Sqrt(aa*bb)
	if math.IsNaN(c) || math.IsInf(c, 0) {
		return 0, fmt.Errorf("%w: a vector has no direction", ErrEmbedder)
	}
	return c, nil
}
