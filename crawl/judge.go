package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
	"arborist/crawl/internal/frontier"
	"arborist/crawl/internal/weburl"
	"arborist/crawl/robots"
)

// admit asks robots.txt about an address. A site whose rules cannot be read
// for a while is closed, so a site that was open waits for them; one that has
// not answered at all yet is given up at once.
func (r *run) admit(ctx context.Context, l *lane, u weburl.URL) (d robots.Decision, err error) {
	for attempt := 1; ; attempt++ {
		d, err = r.gate.admit(ctx, u)
		wait := err == nil && !d.Allowed && d.Temporary && d.RetryAfter <= longestPause && !errors.Is(d.Err, egress.ErrDenied)
		if !wait || !l.answered.Load() || attempt == r.c.cfg.Attempts {
			return d, err
		}
		if err := sleepUntil(ctx, time.Now().Add(d.RetryAfter+time.Millisecond)); err != nil {
			return d, err
		}
	}
}

// judge decides what a result means for the run: whether an entry is tried
// again, and whether the crawl goes on. A seed that comes to nothing ends it and
// stays waiting, so that a resumed crawl tries it again; where there are more
// seeds, that is the last of them.
func (r *run) judge(v *visited) error {
	switch {
	case v.status != 0 && !v.silent:
		v.lane.silence = 0
		v.lane.answered.Store(true)
	case v.silent:
		v.lane.silence++
	}
	seed := v.entry.Depth == 0
	switch v.state {
	case frontier.Refused, frontier.Failed:
		if !seed {
			return nil
		}
	case frontier.Waiting:
		if r.again(v, seed) {
			return nil
		}
		if !seed && v.silent && (v.lane.silence >= downAfter || v.pause > longestPause || v.robots) {
			r.leave(v)
			return nil
		}
		v.state = frontier.Failed
		delete(v.lane.attempts, v.entry.ID)
		if !seed {
			return nil
		}
	default:
		return nil
	}
	if r.lost++; r.lost < len(r.c.seeds) {
		return nil
	}
	r.count(r.outcome(*v))
	v.state = frontier.Waiting
	return r.seedError(v)
}

// again plans another request where one may help, and reports whether it did.
func (r *run) again(v *visited, seed bool) bool {
	l := v.lane
	l.attempts[v.entry.ID]++
	most := r.c.cfg.Attempts
	if v.class != fetch.Transient {
		most = min(most, 2) // rendering failed, or over a limit: once more
	}
	switch n := l.attempts[v.entry.ID]; {
	case n >= most, v.pause > longestPause, v.robots, l.silence >= downAfter:
		return false
	case seed && (v.class == fetch.ResourceLimit || v.silent && v.status == 0):
		// A wrong address is told at once, not after three tries.
		return false
	default:
		l.retry(v.entry, max(v.pause, min(firstBackoff<<(n-1), longBackoff)))
		return true
	}
}

// leave gives up an origin for this run. What waits there goes on waiting.
func (r *run) leave(v *visited) {
	e := &HostDownError{Host: r.c.seed.Origin(), Reason: v.reason, Resume: r.keeps}
	if u, err := r.c.parser.Parse(v.entry.URL); err == nil {
		e.Host = u.Origin()
	}
	if v.pause > longestPause {
		e.Pause = v.pause
	}
	if v.lane.down == nil {
		v.lane.down = e
	}
}

// seedError says why the seed came to nothing, and what to do about it.
func (r *run) seedError(v *visited) error {
	e := &SeedError{Seed: r.c.cfg.Seed, Reason: v.reason, Kind: v.kind, Err: v.cause}
	if len(r.c.seeds) > 1 {
		e.Seed = append(slices.Clone(v.entry.Trail), v.entry.URL)[0] + ", the last of the seeds to fail"
	}
	if len(v.entry.Trail) > 0 {
		e.Reason = fmt.Sprintf("it redirects to %.300s: %s", v.entry.URL, v.reason)
	}
	_, host, _ := strings.Cut(frontier.Origin(v.entry.URL), "://")
	var left *leftError
	var fe *fetch.Error
	switch {
	case errors.As(v.cause, &left):
		e.Hint = fmt.Sprintf("start at %.300s, or pass --allow-host %s", left.target, left.target.Host())
	case v.kind == ErrSeedRedirect:
		e.Hint = "open it in a browser: the site may want cookies, which a crawl does not keep"
	case v.kind == ErrSeedRobots:
		e.Hint = "the site does not want this page crawled: ask its owner, or start at a page that it allows"
	case v.kind == ErrSeedUnreachable && v.pause > longestPause:
		e.Hint = fmt.Sprintf("the site asks to be left alone for %v: crawl it again then", v.pause.Round(time.Second))
	case v.kind == ErrSeedUnreachable && errors.As(v.cause, &fe) && fe.Status == 0:
		e.Reason = fmt.Sprintf("no answer from %s: %s", host, fe.Reason)
		e.Hint = "check the address and that the site is up"
	case v.class == fetch.RenderFailed:
		e.Hint = "crawl it with --fetcher http to get it as the server sends it"
	case v.kind == ErrSeedUnreachable && v.robots:
		e.Reason = fmt.Sprintf("%s gave no robots.txt (%s)", host, strings.TrimPrefix(v.reason, "robots.txt: "))
		e.Hint = "check the address and that the site is up: without its rules nothing is fetched"
	case v.kind == ErrSeedUnreachable:
		e.Hint = "check that the site is up and try again"
	case v.kind == ErrSeedNotPage && v.class == fetch.ResourceLimit:
		e.Hint = "start at a smaller page of the site"
	case v.kind == ErrSeedNotPage:
		e.Hint = "start at a page of the site that opens without a login in a browser"
	case v.kind == ErrSeedURL:
		e.Hint = "start at another page of the site"
	}
	return e
}

func sleepUntil(ctx context.Context, at time.Time) error {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
