package crawl

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"arborist/crawl/internal/crawldb"
	"arborist/crawl/internal/frontier"
)

// absorb notes results, then reports and emits what they brought.
func (r *run) absorb(ctx context.Context, batch []visited) error {
	var outcomes []frontier.Outcome
	var settled []visited
	var stop error
	for _, v := range batch {
		if v.err != nil {
			stop = errors.Join(stop, v.err)
			continue
		}
		if err := r.judge(&v); err != nil {
			stop = errors.Join(stop, err)
		}
		if v.state != frontier.Waiting {
			outcomes, settled = append(outcomes, r.outcome(v)), append(settled, v)
		}
	}
	if len(outcomes) > 0 {
		if err := r.settle(ctx, outcomes); err != nil {
			return err
		}
	}
	for i, v := range settled {
		r.count(outcomes[i])
		r.note(v)
		for _, link := range v.links {
			r.lane(link.URL).grew(link.Depth)
		}
	}
	for _, v := range settled {
		if v.page != nil {
			if err := r.emit(*v.page); err != nil {
				return err
			}
		}
	}
	return stop
}

// settle notes outcomes even where the run was told to stop: what was fetched
// must not be fetched again.
func (r *run) settle(ctx context.Context, outcomes []frontier.Outcome) error {
	return r.frontier.Settle(context.WithoutCancel(ctx), outcomes)
}

// note reports a result beyond its outcome.
func (r *run) note(v visited) {
	r.report.OffSite += v.offSite
	r.report.Social += v.social
	r.report.Nofollow += v.found.Nofollow
	r.report.Foreign += v.found.Foreign
	r.report.Broken += v.found.Broken
	if v.unrelated {
		r.report.Unrelated++
	}
	if v.found.Cut != "" {
		r.cut(v.entry.URL, v.found.Cut)
	}
	if v.state == frontier.Done {
		r.twins.add(v.content)
		if u, err := r.c.parser.Parse(v.entry.URL); err == nil {
			r.traps.brought(u, v.looks)
		}
	}
	if gone := v.status == http.StatusNotFound || v.status == http.StatusGone || v.found.NoIndex; gone && r.keeps && len(r.c.gone) < maxGone {
		r.c.gone = append(r.c.gone, crawldb.Check{URL: v.entry.URL, At: time.Now(), Status: v.status, Reason: cmp.Or(v.reason, noIndexed)})
	}
	answered := v.state == frontier.Done || v.state == frontier.Failed && v.status >= http.StatusBadRequest
	if answered && r.c.cfg.Visit != nil {
		r.c.cfg.Visit(Visit{URL: v.entry.URL, Depth: v.entry.Depth, Status: v.status})
	}
}

// cut reports what was not read to its end.
func (r *run) cut(url, reason string) {
	if len(r.report.Cut) < r.c.cfg.MaxListed {
		r.report.Cut = append(r.report.Cut, Cut{URL: url, Reason: reason})
	}
}

// outcome gives what a result means for the frontier.
func (r *run) outcome(v visited) frontier.Outcome {
	o := frontier.Outcome{
		Entry: v.entry, State: v.state, Status: v.status,
		Class: string(v.class), Reason: v.reason, Links: v.links,
	}
	o.SeedVector = v.vector
	o.Author = cmp.Or(r.c.cfg.Author, v.found.Author)
	if _, named := r.c.isDocument(v.entry.URL, v.entry.Depth); named || v.document && v.entry.Depth > 0 {
		o.Document = true
	}
	switch {
	case v.state != frontier.Done:
	case v.found.NoIndex:
		o.Reason = reasonNoIndex
	case r.keeps:
		o.State, o.Page = frontier.Fetched, v.page
	}
	return o
}
