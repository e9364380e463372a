package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"arborist/daemon"
	"arborist/daemon/api"
)

func (a *app) crawlSitesCommand() *cobra.Command {
	var req api.CrawlSitesRequest
	var depth, pages int
	cmd := &cobra.Command{
		Use:   "crawl-sites FILE",
		Short: "Crawl many sites in one run, into the private crawl db",
		Long: `Crawl the sites whose seeds a file lists, an address a line, # for comments. Sites
at different hosts are crawled side by side, each at its own pace; one that fails stops
no other. Everything goes to the private crawl db, which no peer can read.

What is of one site has no flag here: --allow-host, --from-sitemap and --author belong
to arborist crawl, or into the manifest of arborist crawl-textbooks.`,
		Example: "  arborist crawl-sites seeds.txt --depth 3",
		Args:    args(1, 1, "FILE"),
		RunE: func(cmd *cobra.Command, words []string) (err error) {
			if req.Sites, err = daemon.ReadSeeds(words[0]); err != nil {
				return err
			}
			for i := range req.Sites {
				req.Sites[i].Depth, req.Sites[i].MaxPages = depth, pages
			}
			return a.crawlSites(cmd, req)
		},
	}
	f := cmd.Flags()
	numberVar(f, &depth, "depth", daemon.DefaultCrawlDepth, 0, math.MaxInt32, "how many links away from each seed")
	numberVar(f, &pages, "max-pages", 0, 0, math.MaxInt32, "stop each site after so many pages (0: no cap)")
	sitesFlags(f, &req)
	return cmd
}

func (a *app) crawlTextbooksCommand() *cobra.Command {
	var req api.CrawlSitesRequest
	var ids []string
	var stats bool
	cmd := &cobra.Command{
		Use:   "crawl-textbooks MANIFEST [--id ID]… [--stats]",
		Short: "Crawl the textbooks of a manifest, into the private crawl db",
		Long: `Crawl the textbooks that a manifest lists, each within its own bounds:
{"textbooks": [{"id", "title", "author", "crawl_url", "depth", "max_pages", "allow_hosts", "sitemap"}…]}.
With --id those alone; with --stats nothing is crawled, and what is stored of each is
counted.`,
		Example: "  arborist crawl-textbooks textbooks.json --id sicp",
		Args:    args(1, 1, "MANIFEST"),
		RunE: func(cmd *cobra.Command, words []string) error {
			all, err := daemon.ReadTextbooks(words[0], daemon.DefaultCrawlDepth)
			if err != nil {
				return err
			}
			if req.Sites, err = chosen(all, ids); err != nil {
				return err
			}
			if !stats {
				return a.crawlSites(cmd, req)
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.CountSites(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					for _, c := range res.Sites {
						l.printf("%s: %s, %s  %s", c.ID, plural(c.Pages, "page"), plural(int(c.Words), "word"), strings.Join(slices.DeleteFunc([]string{c.Title, c.Author, c.SeedURL}, func(s string) bool { return s == "" }), ", "))
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&ids, "id", nil, "only the textbook with this id")
	f.BoolVar(&stats, "stats", false, "count what is stored, and crawl nothing")
	sitesFlags(f, &req)
	return cmd
}

// chosen returns the sites with these ids, all where there are none.
func chosen(all []api.Site, ids []string) (sites []api.Site, err error) {
	if len(ids) == 0 {
		return all, nil
	}
	for _, id := range ids {
		i := slices.IndexFunc(all, func(s api.Site) bool { return s.ID == id })
		if i < 0 {
			return nil, usage(fmt.Errorf("no textbook has the id %q", id), "see the manifest")
		}
		sites = append(sites, all[i])
	}
	return sites, nil
}

func sitesFlags(f *pflag.FlagSet, req *api.CrawlSitesRequest) {
	f.BoolVar(&req.Fast, "fast", false, "no delay and several requests at once; robots.txt still holds")
	documentsVar(f, &req.Documents)
	rateVar(f, &req.RPS, "rps", "most requests a second to each host (default: as its robots.txt asks, else one in 2 s)")
	f.StringArrayVar(&req.AllowNet, "allow-net", nil, "network in CIDR form that may be reached although it is not public")
	f.StringVar(&req.Fetcher, "fetcher", "", "http, chromium, auto or hosted, as for crawl")
	warcVar(f, &req.WARC)
	f.BoolVar(&req.Resume, "resume", false, "go on with crawls that were cut short, and begin the others")
}

// crawlSites crawls and says what came of each site.
func (a *app) crawlSites(cmd *cobra.Command, req api.CrawlSitesRequest) error {
	var err error
	if req.WARC, err = archiveFolder(req.WARC); err != nil {
		return err
	}
	req.Ingest = true
	a.goOn = goOnCrawl
	a.note("Pages go to the private crawl db: no peer can read them.")
	return a.with(cmd.Context(), func(s api.Service) error {
		fn, done := a.progress()
		res, err := s.CrawlSites(cmd.Context(), req, fn)
		done()
		if err != nil {
			return err
		}
		var warnings []string
		for _, site := range res.Sites {
			warnings = append(append(warnings, site.Warnings...), site.Unfinished...)
		}
		slices.Sort(warnings)
		a.warn(slices.Compact(warnings))
		failed, missing := 0, false
		for _, site := range res.Sites {
			missing = missing || partial(site.CrawlResult)
			if site.Error != nil {
				failed++
				a.note("failed: %s: %s", site.SeedURL, site.Error.Message)
			}
		}
		err = a.emit(res, func(l *lines) {
			for _, site := range res.Sites {
				l.printf("%s: %s, %d ingested, %d unchanged, %d refused, %d failed", site.SeedURL, plural(site.Pages, "page"),
					site.Ingested, site.Unchanged, site.RefusedTotal, site.FailedTotal)
			}
		})
		switch {
		case err != nil || failed == 0 && !missing:
			return err
		case failed == len(res.Sites):
			return &exitError{api.CodeFailed.ExitCode()}
		default:
			return &exitError{api.CodePartial.ExitCode()}
		}
	})
}
