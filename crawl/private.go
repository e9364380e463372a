package crawl

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"arborist/crawl/audit"
	"arborist/crawl/internal/crawldb"
	"arborist/document"
	"arborist/ingest"
	"arborist/shard"
)

// Private is the private crawl database, at crawl/web.db in the home. What is
// in it never reaches a peer: it is no [shard.Shared] and cannot become one.
// It is safe for concurrent use.
type Private struct {
	db *crawldb.DB
}

var _ ingest.Sink = (*Private)(nil)

// OpenPrivate opens the private crawl database and makes it, with its folder,
// where there is none. Only their owner may read them. Errors name the file
// and wrap those of [shard.OpenFile].
func OpenPrivate(path string) (*Private, error) {
	db, err := crawldb.Open(path)
	if err != nil {
		return nil, err
	}
	return &Private{db: db}, nil
}

// OpenDamaged is OpenPrivate for the owner of a home: where the database cannot
// be used, it returns one whose every call fails with [shard.ErrBroken], so that
// the rest of the home can be used; see [shard.File.Broken].
func OpenDamaged(path string) (*Private, error) {
	db, err := crawldb.OpenAnyway(path)
	if err != nil {
		return nil, err
	}
	return &Private{db: db}, nil
}

// Carried is what [Carry] brought over.
type Carried = crawldb.Carried

// Carry brings addresses to visit, and what else the crawler keeps beside documents,
// from a crawl database that may be damaged into a new one: see [shard.Repair].
func Carry(ctx context.Context, old *sql.DB, fresh string) (Carried, error) {
	return crawldb.Carry(ctx, old, fresh)
}

// Put stores documents, which are durable and found on return, and the crawl that
// they came from knows that. A page whose content and description are there
// already changes nothing in what is stored; one with other content supersedes
// the old one.
func (p *Private) Put(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return p.db.Put(ctx, entries)
}

// Store implements [ingest.Sink]: it is Put of documents that are found once Index was called.
func (p *Private) Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return p.db.Store(ctx, entries)
}

// Index implements [ingest.Sink].
func (p *Private) Index(ctx context.Context) error { return p.File().Index(ctx) }

// File gives the documents for reading and searching. The caller must not
// close it, and must hand it to nothing that a peer can reach.
func (p *Private) File() *shard.File { return p.db.File() }

// GoneSince says since when a stored page is gone from its site, and false where
// it is not, as far as is known. It stays stored.
func (p *Private) GoneSince(ctx context.Context, url string) (time.Time, bool, error) {
	return p.db.GoneSince(ctx, url)
}

// About is what is known of a crawled page beside its document.
type About = crawldb.About

// About says what is known of the page at an address.
func (p *Private) About(ctx context.Context, url string) (About, error) {
	return p.db.About(ctx, url)
}

// CountCrawl counts the pages that the latest crawl of a seed fetched and that are
// stored, with their words. It is 0 where no crawl of it is kept.
func (p *Private) CountCrawl(ctx context.Context, cfg Config) (pages int, words int64, err error) {
	cfg.Store = p
	c, err := New(cfg, nil)
	if err != nil {
		return 0, 0, err
	}
	defer c.close()
	addresses, err := c.addresses(ctx)
	if errors.Is(err, ErrNothingToResume) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	fetched := map[string]bool{}
	for _, a := range addresses {
		fetched[a.URL] = a.Result == audit.Page
	}
	documents, err := c.documentsOf(ctx, addresses)
	for _, d := range documents {
		if fetched[d.URL] {
			pages++
			words += int64(d.Words)
		}
	}
	return pages, words, err
}

// Close closes the database.
func (p *Private) Close() error { return p.db.Close() }

// begin opens the frontier of a crawl.
func (p *Private) begin(ctx context.Context, seeds []string, depth int, resume bool) (*crawldb.Crawl, error) {
	open := p.db.Begin
	if resume {
		open = p.db.Resume
	}
	c, err := open(ctx, seeds, depth)
	seed := seeds[0]
	if len(seeds) > 1 {
		seed = fmt.Sprintf("%s and %d more seeds", seed, len(seeds)-1)
	}
	switch {
	case errors.Is(err, crawldb.ErrBusy):
		return nil, fmt.Errorf("crawl %s: %w: wait for it to end", seed, ErrBusy)
	case errors.Is(err, crawldb.ErrNoCrawl):
		return nil, fmt.Errorf("crawl %s: %w: start it without --resume", seed, ErrNothingToResume)
	case errors.Is(err, crawldb.ErrDepth):
		return nil, fmt.Errorf("%w: give the same --depth, or start it without --resume", err)
	}
	return c, err
}

// Ingest crawls into Config.Store: it runs the crawler through the ingest
// pipeline, and settles the pages that could not become documents, which the
// second report lists. Errors are those of [Crawler.Documents] and
// [ingest.Run]; what was stored until then is in the reports.
func (c *Crawler) Ingest(ctx context.Context, cfg ingest.Config, progress func(ingest.Progress)) (Report, ingest.Report, error) {
	if c.close != nil {
		defer c.close()
	}
	if c.cfg.Store == nil {
		return Report{}, ingest.Report{}, errors.New("ingest crawl: no store was given")
	}
	kept, err := c.begin(ctx)
	if err != nil {
		return Report{}, ingest.Report{}, err
	}
	defer kept.Release()
	if cfg.Extract == nil {
		cfg.Extract = c.cfg.Extract
	}
	sink := &collapsing{Private: c.cfg.Store, seen: map[document.Root]struct{}{}}
	site := pages(func(ctx context.Context, emit func(ingest.Raw) error) error { return c.crawl(ctx, kept, emit) })
	stored, err := ingest.Run(ctx, site, sink, cfg, progress)
	err = errors.Join(err, c.settle(ctx, stored))
	if err == nil {
		var last ingest.Report
		last, err = ingest.Run(ctx, pages(kept.SetApart), sink, alone(cfg), nil)
		err = errors.Join(err, c.settle(ctx, last))
		stored.Add(last)
	}
	c.report.Collapsed = sink.collapsed
	return c.report, stored, err
}

// pages is a source of pages that come in whole.
type pages func(ctx context.Context, emit func(ingest.Raw) error) error

// Documents implements [ingest.Source].
func (p pages) Documents(ctx context.Context, emit func(ingest.Raw) error, _ func(string, error)) error {
	return p(ctx, emit)
}

// alone has each document stored before the next is looked at.
func alone(cfg ingest.Config) ingest.Config {
	cfg.InFlight = 1
	return cfg
}

// settle notes what came of a run beside its documents: stored pages that this
// crawl found gone, and pages that can never become documents.
func (c *Crawler) settle(ctx context.Context, stored ingest.Report) error {
	ctx = context.WithoutCancel(ctx)
	var urls []string
	for _, f := range stored.Failed {
		// What failed because the run was ending, or its reader did not start, is
		// tried again on resume.
		if !errors.Is(f.Err, context.Canceled) && !errors.Is(f.Err, context.DeadlineExceeded) && !errors.Is(f.Err, ingest.ErrUnavailable) {
			urls = append(urls, f.URI)
		}
	}
	marked, err := c.cfg.Store.db.MarkGone(ctx, c.gone)
	c.report.Gone += marked
	c.gone = nil
	if len(urls) > 0 {
		err = errors.Join(err, c.cfg.Store.db.Unreadable(ctx, urls))
	}
	return err
}
