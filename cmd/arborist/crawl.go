package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"arborist/daemon"
	"arborist/daemon/api"
)

func (a *app) crawlCommand() *cobra.Command {
	var req api.CrawlRequest
	var from seeds
	cmd := &cobra.Command{
		Use:   "crawl --seed-url URL… [--seeds FILE] [--ingest]",
		Short: "Crawl one host breadth-first, into the private crawl db",
		Long: `Crawl one exact host breadth-first from a seed, by its robots.txt. Without
--ingest it prints the URLs that it finds; with it, pages go to the private crawl
db, which no peer can read.

Several seeds are one crawl, of all their hosts, in which each address is fetched
once; --resume and crawl-report find it by the same seeds in any order. To crawl
sites apart from each other: arborist crawl-sites.`,
		Example: "  arborist crawl --seed-url https://example.org/docs/ --ingest",
		Args:    args(0, 0, "none: the seed is --seed-url URL"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if req.SeedURL, req.MoreSeeds, err = from.read(); err != nil {
				return err
			}
			if req.SeedURL == "" {
				return usage(errors.New("crawl: no seed"), "for example: "+cmd.Example[2:])
			}
			if req.Sitemap != "" && req.Depth == 0 {
				return usage(errors.New("crawl: the pages of a sitemap are one link from the seed, and --depth 0 follows none"), "give --depth 1 or more")
			}
			if req.WARC, err = archiveFolder(req.WARC); err != nil {
				return err
			}
			if req.Ingest {
				a.note("Pages go to the private crawl db: no peer can read them.")
				a.goOn = goOnCrawl
			} else {
				a.goOn = "nothing is kept of a crawl without --ingest"
			}
			return a.with(cmd.Context(), func(s api.Service) error { return a.crawl(cmd, s, req) })
		},
	}
	f := cmd.Flags()
	from.flags(f, "where to start")
	numberVar(f, &req.Depth, "depth", 2, 0, math.MaxInt32, "how many links away from the seed")
	numberVar(f, &req.MaxPages, "max-pages", 0, 0, math.MaxInt32, "stop after so many pages (0: no cap)")
	f.StringVar(&req.Sitemap, "from-sitemap", "", "address of the site's sitemap, or of an index of them: its pages are crawled as though the seed linked to them")
	f.StringVar(&req.Author, "author", "", "who wrote the pages (default: what each says in <meta name=author>)")
	documentsVar(f, &req.Documents)
	f.BoolVar(&req.Ingest, "ingest", false, "store the pages in the private crawl db")
	f.BoolVar(&req.Fast, "fast", false, "no delay and several requests at once; robots.txt still holds")
	rateVar(f, &req.RPS, "rps", "most requests a second to each host (default: as its robots.txt asks, else one in 2 s)")
	f.StringArrayVar(&req.AllowHost, "allow-host", nil, "further host to crawl, where links or redirects lead to it")
	f.StringArrayVar(&req.AllowNet, "allow-net", nil, "network in CIDR form that may be reached although it is not public")
	warcVar(f, &req.WARC)
	f.StringVar(&req.Fetcher, "fetcher", "", "http, chromium (each page rendered), auto (rendered where a page is an empty shell) or hosted (by a service, which learns the URLs); default: config.toml, else http")
	f.BoolVar(&req.Resume, "resume", false, "go on with a crawl that was cut short")
	return cmd
}

// warcVar adds the flag that archives what is asked and answered.
func warcVar(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "warc", "", "folder for WARC files with every request and answer, readable by you alone")
}

// archiveFolder gives the absolute path of such a folder; none stays none.
func archiveFolder(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", dir, err)
	}
	return abs, nil
}

// seeds are what a crawl starts at, from flags and from a file.
type seeds struct {
	urls []string
	file string
}

func (s *seeds) flags(f *pflag.FlagSet, usage string) {
	f.StringArrayVar(&s.urls, "seed-url", nil, usage)
	f.StringVar(&s.file, "seeds", "", "file with more seeds, an address a line, # for comments")
}

// read gives the seeds in their order.
func (s *seeds) read() (first string, more []string, err error) {
	urls := slices.Clone(s.urls)
	if s.file != "" {
		listed, err := daemon.ReadSeeds(s.file)
		if err != nil {
			return "", nil, err
		}
		for _, l := range listed {
			urls = append(urls, l.SeedURL)
		}
	}
	if len(urls) == 0 {
		return "", nil, nil
	}
	return urls[0], urls[1:], nil
}

// documentsVar adds the flag that brings in document files.
func documentsVar(f *pflag.FlagSet, to *bool) {
	f.BoolVar(to, "documents", false, "fetch links to document files too (.txt .md .pdf .docx .xlsx .pptx .doc .xls .ppt .rtf); without it they are counted")
}

// goOnCrawl is the next step after a crawl that was interrupted: without --resume it
// would begin anew.
const goOnCrawl = "what was done is kept; go on with the same command and --resume"

// crawl runs the crawl. A URL list is printed as it grows.
func (a *app) crawl(cmd *cobra.Command, s api.Service, req api.CrawlRequest) error {
	show, done := a.progress()
	fn := func(p api.Progress) {
		if p.Stage != "page" {
			return
		}
		if req.Ingest {
			if show != nil {
				show(p)
			}
			return
		}
		if a.json {
			a.emitJSON(struct {
				URL    string `json:"url"`
				Depth  int    `json:"depth"`
				Status int    `json:"status"`
			}{p.Item, p.Depth, p.Status})
			return
		}
		l := &lines{}
		l.printf("%s\t%d\t%d", p.Item, p.Depth, p.Status)
		a.out.Write([]byte(l.b.String()))
	}
	res, err := s.Crawl(cmd.Context(), req, fn)
	done()
	if err != nil {
		return err
	}
	a.warn(append(res.Warnings, res.Unfinished...))
	for _, r := range res.Refused {
		a.note("refused: %s: %s", r.URL, r.Reason)
	}
	for _, f := range res.Failed {
		a.note("failed: %s: %s: %s", f.URL, f.Class, f.Error)
	}
	for _, c := range res.Cut {
		a.note("not read to its end: %s: %s", c.URL, c.Reason)
	}
	for _, t := range res.Traps {
		a.note("trap: %s: %s fetched, %d left", t.Pattern, plural(t.Pages, "page"), t.Refused)
	}
	if len(res.Documents) > 0 {
		a.note("document files: %d fetched of %s", res.DocumentPages, byKind(res.Documents))
	}
	for _, f := range res.WARC {
		a.note("archived in %s", f)
	}
	if res.Capped {
		a.note("there is more: --max-pages was reached")
	}
	summary := func(l *lines) { crawlSummary(l, res) }
	if !req.Ingest && !a.json {
		l := &lines{}
		summary(l)
		a.note("%s", l.b.String()[:l.b.Len()-1])
	} else if err := a.emit(res, summary); err != nil {
		return err
	}
	if partial(res) {
		return &exitError{api.CodePartial.ExitCode()}
	}
	return nil
}

// partial reports whether pages are missing from a crawl. One that is not there,
// or that the site forbids, is a fact about the site; one that may come the next
// time is missing.
func partial(res api.CrawlResult) bool {
	return len(res.Unfinished) > 0 || res.Classes["fetch_transient"]+res.Classes["render_failed"]+res.Classes["resource_limit"] > 0
}

// crawlSummary is the last line of a crawl.
func crawlSummary(l *lines, res api.CrawlResult) {
	l.printf("%s: %d ingested, %d unchanged, %d refused, %d failed%s, %d with the content of another page",
		plural(res.Pages, "page"), res.Ingested, res.Unchanged, res.RefusedTotal, res.FailedTotal, byClass(res.Classes), res.Collapsed)
	if res.Known > 0 {
		l.printf("%s whose text was stored before, now here too", plural(res.Known, "page"))
	}
}

// byClass lists failures by class, as in " (3 fetch_denied, 1 resource_limit)".
func byClass(classes map[string]int) string {
	if len(classes) == 0 {
		return ""
	}
	return " (" + byKind(classes) + ")"
}

// byKind lists counts by kind, as in "2 pdf, 1 txt".
func byKind(counts map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return strings.Join(parts, ", ")
}
