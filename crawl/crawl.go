// Package crawl brings in the pages of web sites, breadth first, and keeps
// them in a private store.
//
// A [Crawler] is an ingest source: it emits each page as the bytes that came
// from the server. It guarantees that
//
//   - only the seeds' exact hosts and ports, and hosts named beside it, are
//     asked for pages (see package weburl for http and https of one host); each
//     redirect is a new request that is judged like any other;
//   - nothing that robots.txt disallows is requested, in any mode; noindex
//     pages are not emitted, nofollow links not followed;
//   - a host is asked for one thing at a time and at most as often as it wants
//     (polite), or by a bounded number of requests at once (Fast), and left
//     alone for as long as it asks; robots.txt counts as a request. With
//     [Config.Politeness] that holds over all crawls of the process;
//   - hosts do not wait for each other, neither for a turn nor for a level: one
//     that is slow, asks for a pause or stops answering holds up itself alone;
//   - each address is requested once, however many lead to it; only failures
//     that may pass are tried again, a bounded number of times;
//   - one request serves a page: the bytes that gave its links are the bytes
//     that are emitted;
//   - whatever a server sends, the crawl ends: see the trap budgets in trap.go
//     and the limits of packages fetch and links;
//   - a crawl that is cut short keeps what it emitted and leaves no goroutine.
//
// In polite mode the order of requests, pages and reports at one host depends
// on the site alone. With several hosts, a page's depth is that of the way on
// which it was found first while it was waiting; at one host it is the
// shortest.
//
// # How a page is never lost and never fetched twice
//
// With a store ([Config.Store]) the frontier is in the store's file. What a
// fetch brought (the page's bytes, its links, and the address's new state) is
// committed in one transaction before the page is emitted. The ingest
// pipeline then turns it into a document; [Private.Put] stores that document
// first and, once it is durable, drops the kept bytes and marks the address as
// done. A crawl that is killed anywhere is resumed with [Config.Resume]: pages
// that were fetched but not stored are emitted from the kept bytes, addresses
// that were waiting are fetched. Only a request whose answer had not been
// committed is made again.
//
// Nobody can tell a kill from a page that ends the program. So no page is given
// up for it: one that was being stored at more than one end is stored last, by
// itself ([Crawler.Ingest]), and if it does end the program it holds up no other.
//
// # Privacy
//
// Whatever a crawl brings goes to [Private] alone. Package peer imports
// neither this package nor its file; this package imports no peer.
package crawl

import (
	"fmt"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
	"arborist/crawl/internal/crawldb"
	"arborist/crawl/internal/links"
	"arborist/crawl/internal/weburl"
	"arborist/ingest"
)

const (
	// DefaultDepth is how many links from the seed a crawl goes where nobody
	// says otherwise.
	DefaultDepth = 2

	defaultDelay    = 2 * time.Second
	politeAtOnce    = 64 // requests in polite mode over all hosts
	defaultAttempts = 3
	defaultListed   = 1000

	maxRedirects = 5
	longestPause = 5 * time.Minute  // that is waited for within a crawl
	longWait     = 10 * time.Second // that is told of
	firstBackoff = time.Second
	longBackoff  = 30 * time.Second
	downAfter    = 10 // requests in a row without an answer
)

// Config says what to crawl and how. Only Seed is needed.
type Config struct {
	Seed string // http or https address
	// Seeds are further addresses to start at. All seeds are one crawl, in which
	// each address is requested once; one that comes to nothing is a failed page
	// like others, as long as another one comes. With Embedder there are none.
	Seeds    []string
	Depth    int // links from a seed; 0: the seeds alone. See [DefaultDepth]
	MaxPages int // pages after which to end; 0: no cap

	// Fast makes up to Workers requests at once, with no delay between them
	// but Delay. Polite mode makes one at a time to each host, and in all so
	// many that a host waits for none of the others.
	Fast    bool
	Workers int // 0: three for each CPU

	// Delay is the least time between the starts of two requests to a host. 0:
	// in polite mode what robots.txt asks for, else 2 s; in fast mode none. In
	// polite mode the longer counts where both are given.
	Delay time.Duration

	// FromSitemap is the address of a sitemap, or an index of them, whose pages
	// are crawled as though the seed linked to them; Depth must be 1 or more.
	// "": none is read. It is read once the seed has come.
	FromSitemap string

	// Documents fetches links to document files. They are left out otherwise.
	Documents bool

	// Extract makes text of what was fetched; nil: extract.Extract, which reads no
	// PDF files.
	Extract ingest.ExtractFunc

	// Embedder, if not nil, keeps the crawl to its subject: the links of a page
	// are followed only where the cosine between its vector and that of the
	// seed's page is [RelatedCosine] or more. The page itself is kept.
	Embedder Embedder

	// Author of all pages, in place of what they say of it themselves. "": what
	// each says.
	Author string

	AllowHosts []string       // crawled beside the seed's: "host" or "host:port"
	AllowNets  []netip.Prefix // private networks that may be contacted

	// UserAgent goes out with every request; its product token is the name for
	// which robots.txt, meta robots and X-Robots-Tag are read. "": the
	// product's own.
	UserAgent string

	// Politeness is shared with the other crawls of the process, and made for the
	// same user agent. nil: this crawl has one of its own.
	Politeness *Politeness

	Tracking []string // query parameters to strip, "name" or "prefix*"; nil: a built-in list

	Fetcher       FetcherKind   // "": plain HTTP
	ChromiumPath  string        // the browser's program; "": looked for, see package chromium
	RenderTimeout time.Duration // for the browser to render one page; 0: 15 s
	HostedURL     string        // address of the rendering service
	HostedKey     string        // its key

	// Recorder is given what was asked and answered; its error ends the crawl.
	// nil: nobody is. It is not asked where the fetcher is not one of our own.
	Recorder fetch.Recorder

	// PatternBudget is how many pages of one variable pattern are fetched at
	// the end of a chain of such pages; ten times as many with a query and
	// fifty times as many without one in all. 0: 1000.
	PatternBudget int

	Attempts  int // requests for a page that fails in passing; 0: 3
	MaxListed int // entries of each list in the report; 0: 1000

	// Store keeps the frontier, so that the crawl can be resumed, and is the
	// sink that its pages go to. nil: the frontier is kept in memory.
	Store *Private
	// Resume goes on with the store's crawl of the same seeds, in any order.
	Resume bool

	// Visit, if not nil, is called for each page and each error status, never
	// concurrently. It must not block.
	Visit func(Visit)
	// Waits, if not nil, is told each time that a host is waited for longer than ten
	// seconds, as its robots.txt or an answer of its wants. It may be called from
	// several goroutines at once.
	Waits func(host string, wait time.Duration)
}

// A Crawler crawls one site, or the sites of several seeds. Use it for one run.
type Crawler struct {
	cfg     Config
	seed    weburl.URL // the first
	seeds   []string   // all, each once
	parser  *weburl.Parser
	finder  *links.Finder
	scope   *scope
	names   notPages
	fetcher fetch.Fetcher
	close   func() error // of a fetcher of our own
	report  Report
	gone    []crawldb.Check // addresses whose page is not to be had any more, up to maxGone
}

// maxGone bounds the addresses that are held to mark stored pages.
const maxGone = 100_000

var _ ingest.Source = (*Crawler)(nil)

// New makes a crawler that fetches through f, or through one of its own where f
// is nil: see Config.Fetcher. Pages that are consent walls count as denied with
// either. It sends nothing. Its errors are [*SeedError], [ErrHost], [ErrAuthor], [ErrSitemapAddress], [ErrFetcher],
// [fetch.ErrHostedConfig] and [chromium.ErrNoBrowser].
func New(cfg Config, f fetch.Fetcher) (*Crawler, error) {
	c := &Crawler{cfg: withDefaults(cfg), names: newNotPages(), fetcher: f}
	if c.cfg.Tracking == nil {
		c.cfg.Tracking = weburl.DefaultTracking()
	}
	c.parser = weburl.NewParser(c.cfg.Tracking)
	c.finder = links.NewFinder(c.parser, token(cfg.UserAgent), links.Limits{})
	seeds, err := c.parseSeeds()
	if err != nil {
		return nil, err
	}
	if c.scope, err = newScope(c.parser, seeds, cfg.AllowHosts); err != nil {
		return nil, err
	}
	if cfg.Author != links.OneLine(cfg.Author) {
		return nil, fmt.Errorf("%w: %.300q", ErrAuthor, cfg.Author)
	}
	if err := c.checkFromSitemap(); err != nil {
		return nil, err
	}
	guard := &egress.Guard{Nets: cfg.AllowNets, Ports: c.scope.ports(seeds)}
	for _, seed := range seeds {
		if err := checkGuard(guard, seed); err != nil {
			return nil, &SeedError{Seed: seed.String(), Reason: err.Error(), Kind: ErrSeedAddress, Err: err}
		}
	}
	if len(cfg.AllowNets) > 0 {
		// With a private network open, nothing but the crawl's own hosts is
		// contacted: a redirect of robots.txt could name any other machine.
		for _, seed := range seeds {
			guard.Hosts = append(guard.Hosts, strings.Trim(seed.Host(), "[]"))
		}
		for _, h := range c.scope.hosts {
			guard.Hosts = append(guard.Hosts, strings.Trim(h.name, "[]"))
		}
	}
	if f == nil {
		own := fetch.NewHTTP(fetch.HTTPConfig{Guard: guard, UserAgent: cfg.UserAgent, MaxIdlePerHost: max(c.cfg.Workers, politeAtOnce), Recorder: cfg.Recorder})
		if c.fetcher, c.close, err = c.ownFetcher(guard, own); err != nil {
			return nil, err
		}
	}
	c.fetcher = fetch.WithoutWalls(c.fetcher)
	return c, nil
}

// parseSeeds reads the seeds and keeps each once.
func (c *Crawler) parseSeeds() (seeds []weburl.URL, err error) {
	for _, s := range append([]string{c.cfg.Seed}, c.cfg.Seeds...) {
		u, err := c.parser.Parse(s)
		if err != nil {
			return nil, seedURLError(s, err)
		}
		if !slices.Contains(seeds, u) {
			seeds = append(seeds, u)
			c.seeds = append(c.seeds, u.String())
		}
	}
	c.seed = seeds[0]
	if len(seeds) > 1 && c.cfg.Embedder != nil {
		return nil, fmt.Errorf("crawl %s: %w: pages are compared with the page of one seed, not of %d", c.seed, ErrEmbedder, len(seeds))
	}
	return seeds, nil
}

func withDefaults(cfg Config) Config {
	if cfg.Workers <= 0 {
		cfg.Workers = 3 * runtime.NumCPU()
	}
	if !cfg.Fast {
		cfg.Workers = politeAtOnce
	}
	if cfg.PatternBudget <= 0 {
		cfg.PatternBudget = defaultPatternBudget
	}
	if cfg.Attempts <= 0 {
		cfg.Attempts = defaultAttempts
	}
	if cfg.MaxListed <= 0 {
		cfg.MaxListed = defaultListed
	}
	cfg.Depth = max(cfg.Depth, 0)
	return cfg
}

// checkGuard refuses early what shows in the address alone.
func checkGuard(guard *egress.Guard, u weburl.URL) error {
	return guard.CheckURL(&url.URL{Scheme: u.Scheme(), Host: strings.TrimPrefix(u.Origin(), u.Scheme()+"://"), Path: "/"})
}

func seedURLError(seed string, err error) error {
	e := &SeedError{Seed: seed, Reason: err.Error(), Kind: ErrSeedURL, Err: err}
	switch {
	case err == weburl.ErrCredentials:
		e.Seed = "the seed URL" // not to be repeated in a log
		e.Hint = "leave out the part before the @: pages behind a login are not crawled"
	case strings.TrimSpace(seed) == "":
		e.Seed, e.Hint = "(no seed)", "give an address such as https://example.com/docs/"
	case !strings.Contains(seed, "://"):
		e.Hint = "write it in full, as in https://example.com/docs/"
	default:
		e.Hint = "give an address such as https://example.com/docs/"
	}
	return e
}

// Report says what the crawl did, once Documents has returned.
func (c *Crawler) Report() Report { return c.report }
