package crawl

import (
	"context"
	"fmt"
	"testing"

	"arborist/crawl/internal/frontier"
)

// A settling frontier counts its transactions.
type settling struct {
	*frontier.Memory
	settled []int // outcomes of each
}

func (c *settling) Settle(ctx context.Context, outcomes []frontier.Outcome) error {
	c.settled = append(c.settled, len(outcomes))
	return c.Memory.Settle(ctx, outcomes)
}

// In a file each transaction is a sync of the disk, for which all hosts wait.
func TestWhatIsInATrapIsNotedTogether(t *testing.T) {
	const pages, fetched = 1000, 10
	c, err := New(Config{Seed: "http://h.test/", Depth: 1, Fast: true, Workers: 2 * fetched, PatternBudget: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var links []frontier.Link
	for i := range pages {
		links = append(links, frontier.Link{URL: fmt.Sprintf("http://h.test/x?n=%d", i), Depth: 1})
	}
	f := &settling{Memory: frontier.NewMemory()}
	if err := f.Add(t.Context(), links); err != nil {
		t.Fatal(err)
	}
	r := &run{
		c: c, frontier: f, report: &c.report, traps: newTraps(c.cfg.PatternBudget), twins: newTwins(),
		gate: newGate(c.fetcher, c.parser, c.cfg), lanes: map[string]*lane{}, busy: map[string]int{},
		send: func(*lane, frontier.Entry) {},
	}
	r.lane("http://h.test/")
	if err := r.startAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.inFlight != fetched || c.report.RefusedTotal != pages-fetched {
		t.Errorf("%d are fetched and %d refused, want %d and %d", r.inFlight, c.report.RefusedTotal, fetched, pages-fetched)
	}
	if most := pages/queueSize + 1; len(f.settled) > most {
		t.Errorf("%d transactions, want at most %d", len(f.settled), most)
	}
}
