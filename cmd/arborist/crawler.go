package main

import (
	"math"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) crawlerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crawler",
		Short: "Look after the pages that were crawled",
		Args:  verbs,
		RunE:  a.noVerb,
	}
	cmd.AddCommand(a.recheckCommand())
	return cmd
}

func (a *app) recheckCommand() *cobra.Command {
	var req api.RecheckRequest
	cmd := &cobra.Command{
		Use:   "recrawl-check [--domain HOST] [--update]",
		Short: "Say which crawled pages are fresh, stale, gone or unreachable",
		Long: `Ask the web servers of crawled pages whether they changed: by a conditional HEAD,
or by a GET whose content is compared where HEAD is refused or nothing is known to
ask by. One line for each page: its address and fresh, stale, gone or unreachable.

With --update stale pages are fetched again: one that changed becomes a new version,
one that did not is not written. A page that is gone stays stored, with a mark.

Exit code 3: some pages were unreachable.`,
		Example: "  arborist crawler recrawl-check --domain example.org --update",
		Args:    args(0, 0, "none: the host is --domain HOST"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if req.WARC, err = archiveFolder(req.WARC); err != nil {
				return err
			}
			return a.with(cmd.Context(), func(s api.Service) error { return a.recheck(cmd, s, req) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Domain, "domain", "", "this exact host alone, with any scheme and port; or HOST:PORT")
	numberVar(f, &req.Limit, "limit", 0, 0, math.MaxInt32, "pages at most, those checked longest ago first (0: all)")
	f.BoolVar(&req.Update, "update", false, "fetch stale pages again and store what changed")
	f.BoolVar(&req.Fast, "fast", false, "no delay and several requests at once; robots.txt still holds")
	rateVar(f, &req.RPS, "rps", "most requests a second to each host (default: as its robots.txt asks, else one in 2 s)")
	f.StringArrayVar(&req.AllowNet, "allow-net", nil, "network in CIDR form that may be reached although it is not public")
	warcVar(f, &req.WARC)
	f.StringVar(&req.Fetcher, "fetcher", "", "as in crawl: http, chromium, auto or hosted; pages that were rendered must be rendered to be compared")
	return cmd
}

// recheck prints the state of each page as it becomes known.
func (a *app) recheck(cmd *cobra.Command, s api.Service, req api.RecheckRequest) error {
	res, err := s.Recheck(cmd.Context(), req, func(p api.Progress) {
		switch {
		case p.Page == nil:
		case a.json:
			a.emitJSON(p.Page)
		default:
			l := &lines{}
			l.printf("%s\t%s", p.Page.URL, p.Page.State)
			a.out.Write([]byte(l.b.String()))
			if p.Page.Reason != "" {
				a.note("%s: %s: %s", p.Page.URL, p.Page.State, p.Page.Reason)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, f := range res.WARC {
		a.note("archived in %s", f)
	}
	a.note("%d fresh, %d stale, %d gone, %d unreachable; %d stored anew", res.Fresh, res.Stale, res.Gone, res.Unreachable, res.Updated)
	if res.Unreachable > 0 {
		return &exitError{api.CodePartial.ExitCode()}
	}
	return nil
}
