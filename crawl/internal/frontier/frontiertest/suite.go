// Package frontiertest holds the promises of package frontier as tests that
// each implementation must pass.
package frontiertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"arborist/crawl/internal/frontier"
)

// A Frontier is what is tested.
type Frontier interface {
	Add(ctx context.Context, links []frontier.Link) error
	Origins(ctx context.Context) ([]string, error)
	Next(ctx context.Context, origin string) (depth int, ok bool, err error)
	Waiting(ctx context.Context, origin string, depth int, after int64, n int) ([]frontier.Entry, error)
	Settle(ctx context.Context, outcomes []frontier.Outcome) error
}

// Seed is the address that is known in a new frontier.
const Seed = "http://seed/"

// origin is that of all entries but those of other origins, which say so.
const origin = "http://seed"

// Run tests an implementation; open gives a frontier with nothing but [Seed].
func Run(t *testing.T, open func(t *testing.T) Frontier) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, Frontier)
	}{
		{"an address is added once", addedOnce},
		{"the next level is the lowest that waits", nextLevel},
		{"entries come out in order of discovery", inOrder},
		{"origins have levels of their own", originsApart},
		{"a waiting entry rises, a settled one stays", rises},
		{"a settled entry is settled for good", settledOnce},
		{"an outcome brings its links", bringsLinks},
		{"concurrent use", concurrent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := open(t)
			next(t, f, 0)
			seed := expect(t, f, 0, "")[0]
			if seed.Chain != 0 || len(seed.Trail) != 0 {
				t.Errorf("seed %+v", seed)
			}
			settle(t, f, frontier.Outcome{Entry: seed, State: frontier.Done})
			tc.test(t, f)
		})
	}
}

// link gives a link to a path below the seed.
func link(path string, depth int) frontier.Link {
	return frontier.Link{URL: Seed + path, Depth: depth}
}

func add(t *testing.T, f Frontier, links ...frontier.Link) {
	t.Helper()
	if err := f.Add(t.Context(), links); err != nil {
		t.Fatal(err)
	}
}

func settle(t *testing.T, f Frontier, outcomes ...frontier.Outcome) {
	t.Helper()
	if err := f.Settle(t.Context(), outcomes); err != nil {
		t.Fatal(err)
	}
}

func waiting(t *testing.T, f Frontier, depth int, after int64, n int) []frontier.Entry {
	t.Helper()
	entries, err := f.Waiting(t.Context(), origin, depth, after, n)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func urls(entries []frontier.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, strings.TrimPrefix(e.URL, Seed))
	}
	return out
}

func expect(t *testing.T, f Frontier, depth int, want ...string) []frontier.Entry {
	t.Helper()
	got := waiting(t, f, depth, 0, 1000)
	if !slices.Equal(urls(got), append([]string{}, want...)) {
		t.Fatalf("waiting at depth %d: %q, want %q", depth, urls(got), want)
	}
	return got
}

// next checks the level that Next gives; -1 stands for none.
func next(t *testing.T, f Frontier, want int) {
	t.Helper()
	depth, ok, err := f.Next(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		depth = -1
	}
	if depth != want {
		t.Fatalf("next level is %d, want %d", depth, want)
	}
}

func nextLevel(t *testing.T, f Frontier) {
	next(t, f, -1)
	add(t, f, link("a", 7), link("b", 3))
	next(t, f, 3)
	add(t, f, link("a", 5))
	settle(t, f, frontier.Outcome{Entry: expect(t, f, 3, "b")[0], State: frontier.Failed})
	next(t, f, 5)
	settle(t, f, frontier.Outcome{Entry: expect(t, f, 5, "a")[0], State: frontier.Done})
	next(t, f, -1)
}

func originsApart(t *testing.T, f Frontier) {
	for _, o := range []string{"http://b", "https://seed", "http://seed:8080", "http://[::1]:80", "http://s"} {
		add(t, f, frontier.Link{URL: o + "/x/y", Depth: 4}, frontier.Link{URL: o + "/", Depth: 4}, frontier.Link{URL: o + "/?a=/b", Depth: 6})
	}
	want := []string{"http://[::1]:80", "http://b", "http://s", "http://seed:8080", "https://seed"}
	if got, err := f.Origins(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Fatalf("origins %q, want %q, %v", got, want, err)
	}
	next(t, f, -1)
	for _, o := range want {
		got, err := f.Waiting(t.Context(), o, 4, 0, 100)
		if err != nil || !slices.Equal(urls(got), []string{o + "/x/y", o + "/"}) {
			t.Errorf("%s: %q, %v", o, urls(got), err)
		}
		if depth, ok, err := f.Next(t.Context(), o); depth != 4 || !ok || err != nil {
			t.Errorf("%s: next level %d, %v, %v", o, depth, ok, err)
		}
		for _, e := range got {
			settle(t, f, frontier.Outcome{Entry: e, State: frontier.Done})
		}
		if depth, _, _ := f.Next(t.Context(), o); depth != 6 {
			t.Errorf("%s: then level %d", o, depth)
		}
	}
}

func addedOnce(t *testing.T, f Frontier) {
	add(t, f, link("a", 1), link("b", 1), link("a", 1))
	add(t, f, link("b", 1), link("a", 2))
	expect(t, f, 1, "a", "b")
	expect(t, f, 2)
}

func inOrder(t *testing.T, f Frontier) {
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf("u%d", i*7919%300))
		add(t, f, link(want[i], 1), link(fmt.Sprintf("deeper%d", i), 2))
	}
	var got []string
	after := int64(0)
	for {
		page := waiting(t, f, 1, after, 64)
		if len(page) == 0 {
			break
		}
		got = append(got, urls(page)...)
		after = page[len(page)-1].ID
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func rises(t *testing.T, f Frontier) {
	add(t, f, link("a", 2), link("b", 2), link("c", 2))
	all := expect(t, f, 2, "a", "b", "c")
	settle(t, f, frontier.Outcome{Entry: all[2], State: frontier.Done, Links: []frontier.Link{{URL: Seed + "b", Depth: 1, Chain: 3, Trail: []string{"x", "y"}}}})
	add(t, f, link("c", 1))
	expect(t, f, 2, "a")
	b := expect(t, f, 1, "b")[0]
	if b.ID != all[1].ID || b.Chain != 3 || !slices.Equal(b.Trail, []string{"x", "y"}) {
		t.Errorf("%+v", b)
	}
	add(t, f, link("b", 2)) // never down again
	expect(t, f, 1, "b")
}

func settledOnce(t *testing.T, f Frontier) {
	add(t, f, link("a", 0))
	a := expect(t, f, 0, "a")[0]
	settle(t, f, frontier.Outcome{Entry: a, State: frontier.Failed, Links: []frontier.Link{link("b", 1)}})
	settle(t, f, frontier.Outcome{Entry: a, State: frontier.Done, Links: []frontier.Link{link("c", 1)}})
	settle(t, f, frontier.Outcome{Entry: frontier.Entry{ID: 1 << 40, URL: "z"}, State: frontier.Done, Links: []frontier.Link{link("d", 1)}})
	add(t, f, link("a", 0))
	expect(t, f, 0)
	expect(t, f, 1, "b")
	add(t, f, link("c", 1), link("d", 1)) // what an outcome that did not count brought is new
	expect(t, f, 1, "b", "c", "d")
}

func bringsLinks(t *testing.T, f Frontier) {
	add(t, f, link("a", 0), link("b", 0))
	both := expect(t, f, 0, "a", "b")
	settle(t, f,
		frontier.Outcome{Entry: both[0], State: frontier.Done, Links: []frontier.Link{link("c", 1), link("b", 1), link("a", 1), link("d", 1)}},
		frontier.Outcome{Entry: both[1], State: frontier.Redirected, Links: []frontier.Link{{URL: Seed + "d", Depth: 0, Trail: []string{"b"}}, link("e", 1)}})
	expect(t, f, 0, "d")
	expect(t, f, 1, "c", "e")
}

func concurrent(t *testing.T, f Frontier) {
	add(t, f, link("seed", 0))
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 25 {
				if err := f.Add(t.Context(), []frontier.Link{link(fmt.Sprintf("u%d", i), 1), link(fmt.Sprintf("w%d-%d", w, i), 1)}); err != nil {
					t.Error(err)
				}
				if _, err := f.Waiting(t.Context(), origin, 1, 0, 10); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(waiting(t, f, 1, 0, 1000)); n != 125 {
		t.Errorf("%d entries, want 125", n)
	}
}
