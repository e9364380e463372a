package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
	"arborist/crawl/internal/crawldb"
	"arborist/crawl/internal/weburl"
	"arborist/document"
	"arborist/ingest"
)

// What a check finds of a page. A page that is gone stays stored, with a mark.
const (
	Fresh       = "fresh"       // as it is stored
	Stale       = "stale"       // changed, or moved
	Gone        = crawldb.Gone  // 404 or 410
	Unreachable = "unreachable" // no answer, or none that says anything of the page
)

// ErrNoPages: no crawled page of the host is stored.
var ErrNoPages = errors.New("no crawled pages are stored")

// RecheckConfig says which stored pages are looked at again, and how. Its zero
// value looks at all of them, politely.
type RecheckConfig struct {
	Host   string // exact host, with any scheme and port; "": all
	Limit  int    // pages at most, those whose check is longest ago first; 0: all
	Update bool   // fetch stale pages again and store what changed

	// Crawl says how pages are asked for: its pace, user agent, networks, fetcher
	// and recorder count, and how text is made of them; nothing else of it does.
	Crawl Config

	// Each, if not nil, is called for each page, never concurrently. What it is
	// told is durable.
	Each func(Checked)
}

// Checked is what came of one page.
type Checked struct {
	URL    string
	State  string // Fresh, Stale, Gone or Unreachable
	Status int    // HTTP status, 0 where there was none
	Reason string // of a state other than Fresh
	// Updated: a new version was stored, at URL or at MovedTo.
	Updated bool
	MovedTo string // where a redirect leads; may be empty
}

// A recheck is one call of Recheck.
type recheck struct {
	cfg    RecheckConfig
	store  *Private
	gate   *gate
	parser *weburl.Parser
}

// Recheck looks at stored pages again: by a conditional HEAD, or by a
// conditional GET whose content is compared where HEAD is refused or nothing is
// known to ask by. robots.txt and the pace of each host hold as in a crawl.
// With Update, what changed is stored as a new version, what did not is not
// written. It returns the number of pages in each state. Errors are
// [ErrNoPages], [ErrHost], [ErrFetcher], those of the store and the context's.
func (p *Private) Recheck(ctx context.Context, cfg RecheckConfig) (map[string]int, error) {
	r := &recheck{cfg: cfg, store: p, parser: weburl.NewParser([]string{})}
	host, err := r.host()
	if err != nil {
		return nil, err
	}
	pages, err := p.db.Pages(ctx, host, cfg.Limit)
	if err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		if host != "" {
			return nil, fmt.Errorf("recrawl-check %s: %w", host, ErrNoPages)
		}
		return nil, fmt.Errorf("recrawl-check: %w", ErrNoPages)
	}
	closeAll, err := r.open(pages)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	defer r.gate.leave()
	return r.run(ctx, pages)
}

// host gives the host as addresses spell it.
func (r *recheck) host() (string, error) {
	if r.cfg.Host == "" {
		return "", nil
	}
	u, err := r.parser.Parse("http://" + r.cfg.Host + "/")
	if err != nil || u.Target() != "/" {
		return "", fmt.Errorf("%w: %q: write a host name, or host:port, without scheme and path", ErrHost, r.cfg.Host)
	}
	return strings.TrimPrefix(u.Origin(), "http://"), nil
}

// open makes the fetchers: nothing but the hosts of the pages is contacted.
func (r *recheck) open(pages map[string][]int64) (closeAll func() error, err error) {
	guard := &egress.Guard{Nets: r.cfg.Crawl.AllowNets}
	for origin := range pages {
		if u, err := r.parser.Parse(origin + "/"); err == nil {
			guard.Hosts = append(guard.Hosts, strings.Trim(u.Host(), "[]"))
			guard.Ports = append(guard.Ports, u.Port())
		}
	}
	cfg := withDefaults(r.cfg.Crawl)
	cfg.Documents = true // pages that are stored may be some
	r.cfg.Crawl = cfg
	plain := fetch.NewHTTP(fetch.HTTPConfig{Guard: guard, UserAgent: cfg.UserAgent, MaxIdlePerHost: max(cfg.Workers, politeAtOnce), Recorder: cfg.Recorder})
	own, closeAll, err := (&Crawler{cfg: cfg}).ownFetcher(guard, plain)
	if err != nil {
		return nil, err
	}
	r.gate = newGate(bySort{head: plain, page: fetch.WithoutWalls(own)}, r.parser, cfg)
	return closeAll, nil
}

// bySort sends requests for a header alone to a fetcher that can do that.
type bySort struct{ head, page fetch.Fetcher }

// Fetch implements [fetch.Fetcher].
func (f bySort) Fetch(ctx context.Context, req fetch.Request) (fetch.Response, error) {
	if req.Head {
		return f.head.Fetch(ctx, req)
	}
	return f.page.Fetch(ctx, req)
}

// run sends so many workers through each host's pages as may ask it at once,
// and notes what they find.
func (r *recheck) run(ctx context.Context, pages map[string][]int64) (map[string]int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	found := make(chan finding)
	var workers sync.WaitGroup
	for _, ids := range r.byHost(pages) {
		next, silence := make(chan int64), new(atomic.Int64)
		workers.Go(func() {
			defer close(next)
			for _, id := range ids {
				select {
				case next <- id:
				case <-ctx.Done():
					return
				}
			}
		})
		atOnce := 1
		if r.cfg.Crawl.Fast {
			atOnce = min(r.cfg.Crawl.Workers, len(ids))
		}
		for range atOnce {
			workers.Go(func() { r.work(ctx, next, silence, found, cancel) })
		}
	}
	go func() { workers.Wait(); close(found) }()
	return r.collect(ctx, found, cancel)
}

// byHost puts the pages of one host together, whatever their scheme and port.
func (r *recheck) byHost(pages map[string][]int64) map[string][]int64 {
	hosts := map[string][]int64{}
	for origin, ids := range pages {
		host := origin
		if u, err := r.parser.Parse(origin + "/"); err == nil {
			host = u.Host()
		}
		hosts[host] = append(hosts[host], ids...)
	}
	return hosts
}

// finding is what a worker found: for the store and for the caller.
type finding struct {
	check crawldb.Check
	told  Checked
}

// work looks at one page after the other. A host that does not answer for some
// time, silence counts it, is asked no more: its other pages are as unreachable.
func (r *recheck) work(ctx context.Context, next <-chan int64, silence *atomic.Int64, found chan<- finding, cancel context.CancelCauseFunc) {
	for id := range next {
		page, ok, err := r.store.db.Page(ctx, id)
		if err == nil && ok {
			var f finding
			if silence.Load() >= downAfter {
				f = r.unasked(page)
			} else if f, err = r.look(ctx, page); err == nil && f.told.State == Unreachable && f.told.Status == 0 {
				silence.Add(1)
			} else {
				silence.Store(0)
			}
			if err == nil {
				found <- f // always taken: collect reads to the end
			}
		}
		if err != nil {
			cancel(err)
			return
		}
	}
}

// collect notes what is found, as much at once as there is, and tells it.
func (r *recheck) collect(ctx context.Context, found <-chan finding, cancel context.CancelCauseFunc) (map[string]int, error) {
	states := map[string]int{}
	for first := range found {
		batch := []finding{first}
		for more := true; more && len(batch) < 256; {
			select {
			case c, ok := <-found:
				if more = ok; ok {
					batch = append(batch, c)
				}
			default:
				more = false
			}
		}
		checks := make([]crawldb.Check, len(batch))
		for i, c := range batch {
			checks[i] = c.check
		}
		// What was asked is noted even where the run is told to stop.
		if err := r.store.db.Note(context.WithoutCancel(ctx), checks); err != nil {
			cancel(err)
			continue
		}
		for _, c := range batch {
			states[c.told.State]++
			if r.cfg.Each != nil {
				r.cfg.Each(c.told)
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return states, err
	}
	return states, nil
}

// entryOf runs a page through the ingest pipeline, up to the store.
func entryOf(ctx context.Context, text ingest.ExtractFunc, raw ingest.Raw) (*document.Entry, error) {
	var sink oneEntry
	report, err := ingest.Run(ctx, pages(func(_ context.Context, emit func(ingest.Raw) error) error { return emit(raw) }), &sink, ingest.Config{Workers: 1, Batch: 1, Queue: 1, Extract: text}, nil)
	switch {
	case err != nil:
		return nil, err
	case len(report.Failed) > 0:
		return nil, report.Failed[0].Err
	}
	return sink.entry, nil
}

// oneEntry is a sink that stores nothing.
type oneEntry struct{ entry *document.Entry }

// Store implements [ingest.Sink].
func (s *oneEntry) Store(_ context.Context, entries []document.Entry) ([]document.Outcome, error) {
	s.entry = &slices.Clone(entries)[0]
	return make([]document.Outcome, len(entries)), nil
}

// Index implements [ingest.Sink].
func (s *oneEntry) Index(context.Context) error { return nil }
