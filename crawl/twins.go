package crawl

import (
	"context"
	"hash/maphash"

	"arborist/document"
)

// twins knows pages again by their content. Whether two addresses that differ
// in a slash at the end, or in the order of their parameters, are one page is
// for the server to say: both are fetched, and what they bring is compared.
type twins struct {
	seed      maphash.Seed
	seen      map[uint64]struct{} // hashes of contents
	collapsed int
	sizes     sizes
}

// maxTwins bounds the contents that are remembered, at about 40 bytes each.
const maxTwins = 1 << 20

func newTwins() *twins {
	return &twins{seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}, sizes: sizes{folders: map[string]*sameSize{}}}
}

// content gives a hash of a page's bytes. It is safe for concurrent use.
func (t *twins) content(body []byte) uint64 { return maphash.Bytes(t.seed, body) }

// add counts a page whose content was there before.
func (t *twins) add(content uint64) {
	if _, ok := t.seen[content]; ok {
		t.collapsed++
	} else if len(t.seen) < maxTwins {
		t.seen[content] = struct{}{}
	}
}

// collapsing is a sink that counts the pages that became a document which an
// earlier page of the run had become already.
type collapsing struct {
	*Private
	seen      map[document.Root]struct{}
	collapsed int
}

// Store implements [ingest.Sink].
func (c *collapsing) Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	outcomes, err := c.Private.Store(ctx, entries)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		root := e.Document.Root()
		if _, ok := c.seen[root]; ok {
			c.collapsed++
		} else if len(c.seen) < maxTwins {
			c.seen[root] = struct{}{}
		}
	}
	return outcomes, nil
}
