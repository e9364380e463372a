package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) crawlReportCommand() *cobra.Command {
	var req api.CrawlReportRequest
	var from seeds
	var page string
	cmd := &cobra.Command{
		Use:   "crawl-report --seed-url URL… [--seeds FILE] [--sitemap URL] [--html FILE]",
		Short: "Say what is wrong with a site that was crawled",
		Long: `Say what is wrong with a site, from its latest crawl with --ingest: broken links and
the pages they stand on, redirect chains, pages with one and the same text, pages that
share passages, pages that no link leads to, how deep pages lie, thin and untitled
ones. It changes nothing, and fetches nothing but the sitemap, if one is named.`,
		Example: "  arborist crawl-report --seed-url https://example.org/docs/ --html report.html",
		Args:    args(0, 0, "none: the seed is --seed-url URL"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if req.SeedURL, req.MoreSeeds, err = from.read(); err != nil {
				return err
			}
			if req.SeedURL == "" {
				return usage(errors.New("crawl-report: no seed"), "the one that was crawled: "+cmd.Example[2:])
			}
			if req.HTML = page != ""; req.HTML {
				if err := checkOutput(page); err != nil {
					return err
				}
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				fn, done := a.progress()
				res, err := s.CrawlReport(cmd.Context(), req, fn)
				done()
				if err != nil {
					return err
				}
				if req.HTML {
					if err := writeWhole(page, []byte(res.HTML), 0o600); err != nil {
						return err
					}
					a.note("written to %s", page)
				}
				res.HTML = "" // is in its file
				return a.emit(res, func(l *lines) { printReport(l, res) })
			})
		},
	}
	f := cmd.Flags()
	from.flags(f, "the seed that was crawled; of a crawl with several, each")
	f.StringVar(&req.Sitemap, "sitemap", "", "address of the site's sitemap or of an index of them, which is fetched")
	f.StringArrayVar(&req.AllowHost, "allow-host", nil, "further host that the sitemap may be at or speak of")
	f.StringArrayVar(&req.AllowNet, "allow-net", nil, "network in CIDR form that may be reached although it is not public")
	f.StringVar(&page, "html", "", "also write a page with plots, which needs no network, to this file")
	return cmd
}

// shownFindings is how many of each kind are printed; --json has up to 1,000.
const shownFindings = 10

func printReport(l *lines, r api.CrawlReportResult) {
	l.printf("%s: %s", strings.Join(append([]string{r.SeedURL}, r.MoreSeeds...), ", "), plural(r.Pages, "page"))
	section := func(name string, total, listed int, show func(i int)) {
		l.printf("%s: %d", name, total)
		for i := range min(listed, shownFindings) {
			show(i)
		}
		if total > shownFindings {
			l.printf("   … and %d more: --json or --html", total-min(listed, shownFindings))
		}
	}
	section("broken links", r.Totals["broken"], len(r.Broken), func(i int) {
		b := r.Broken[i]
		l.printf("   %s  (%s), on %s", b.URL, b.Reason, b.FoundOn)
	})
	section("redirects", r.Totals["redirects"], len(r.Redirects), func(i int) {
		c := r.Redirects[i]
		l.printf("   %s → %s  (%s), on %s", strings.Join(append([]string{c.From}, c.Through...), " → "), c.To, plural(c.Hops, "hop"), c.FoundOn)
	})
	section("same text", r.Totals["duplicates"], len(r.Duplicates), func(i int) {
		l.printf("   %s", strings.Join(r.Duplicates[i].URLs[:min(4, len(r.Duplicates[i].URLs))], "  "))
	})
	section("overlaps", r.Totals["overlaps"], len(r.Overlaps), func(i int) {
		o := r.Overlaps[i]
		l.printf("   %s  %s  (%s, %.0f %%)", o.A, o.B, plural(o.Shared, "passage"), 100*o.Share)
	})
	section("orphans", r.Totals["orphans"], len(r.Orphans), func(i int) {
		l.printf("   %s  (%s)", r.Orphans[i].URL, r.Orphans[i].From)
	})
	section("thin or untitled", r.Totals["thin"], len(r.Thin), func(i int) {
		t := r.Thin[i]
		if t.Untitled {
			l.printf("   %s  (%s, no title)", t.URL, plural(t.Words, "word"))
		} else {
			l.printf("   %s  (%s)", t.URL, plural(t.Words, "word"))
		}
	})
	section("document files", r.Totals["documents"], len(r.Documents), func(i int) {
		f := r.Documents[i]
		l.printf("   %s  (%s), on %s", f.URL, cmp.Or(f.Reason, "fetched"), f.FoundOn)
	})
	section("traps", r.Totals["traps"], len(r.Traps), func(i int) {
		t := r.Traps[i]
		l.printf("   %s  (%s fetched, %d left)", t.Pattern, plural(t.Pages, "page"), t.Refused)
	})
	l.printf("depth")
	for _, d := range r.Depths {
		l.printf("   %d: %s", d.Depth, plural(d.Pages, "page"))
	}
}
