package daemon

import (
	"context"
	"errors"
	"fmt"

	"arborist/crawl"
	"arborist/daemon/api"
)

// Recheck implements [api.Ingester].
func (n *Node) Recheck(ctx context.Context, req api.RecheckRequest, fn api.ProgressFunc) (res api.RecheckResult, err error) {
	if req.Limit < 0 {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("recrawl-check: a limit of %d pages", req.Limit), "give a number over 0, or none for all pages")
	}
	if err := n.writable(); err != nil {
		return res, err
	}
	cfg := crawl.RecheckConfig{Host: req.Domain, Limit: req.Limit, Update: req.Update}
	if cfg.Crawl, err = n.asking(req.Fetcher, req.Fast, req.RPS, req.AllowNet); err != nil {
		return res, err
	}
	end, err := n.archive(&cfg.Crawl, req.WARC)
	if err != nil {
		return res, err
	}
	defer func() {
		var failed error
		if res.WARC, failed = end(); err == nil {
			err = failed
		}
	}()
	var pages int64
	cfg.Each = func(c crawl.Checked) {
		pages++
		if c.Updated {
			res.Updated++
		}
		if fn != nil {
			fn(api.Progress{Stage: "check", Done: pages, Item: c.URL, Page: &api.CheckedPage{
				URL: c.URL, State: c.State, Status: c.Status, Reason: c.Reason, Updated: c.Updated, MovedTo: c.MovedTo,
			}})
		}
	}
	states, err := n.private.Recheck(ctx, cfg)
	res.Fresh, res.Stale, res.Gone, res.Unreachable = states[crawl.Fresh], states[crawl.Stale], states[crawl.Gone], states[crawl.Unreachable]
	if errors.Is(err, crawl.ErrNoPages) {
		return res, api.NewError(api.CodeNotFound, err, "crawl some first: arborist crawl --seed-url URL --ingest")
	}
	return res, explain(err)
}

// privateVersions gives versions of the crawl db, with a mark on those whose
// page is gone and with what else is known of them.
func (n *Node) privateVersions(ctx context.Context, found []api.Version) ([]api.Version, error) {
	for i, v := range found {
		if !v.Current {
			continue
		}
		since, gone, err := n.private.GoneSince(ctx, v.URI)
		if err != nil {
			return nil, explain(err)
		}
		if gone {
			found[i].GoneSince = &since
		}
		about, err := n.private.About(ctx, v.URI)
		if err != nil {
			return nil, explain(err)
		}
		found[i].Author, found[i].Parent = about.Author, about.Parent
	}
	return found, nil
}
