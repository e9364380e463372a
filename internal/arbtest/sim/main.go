// Command sim simulates the spread of new heads over a network of nodes that
// follow corpora: what docs/scale.md says of numbers of nodes that no test can
// start. It is a model of the protocol's messages, not the protocol itself.
package main

import (
	"fmt"
	"slices"
	"time"
)

func main() {
	fmt.Println("nodes  corpora  change     who serves       reached        half     95 %      all   messages/head  gossip/follower  publishers' share")
	for _, c := range []Config{network(1000, 100, 40<<10), network(1000, 100, 1<<20), network(10_000, 1000, 40<<10), network(100_000, 1000, 40<<10)} {
		for _, alone := range []bool{false, true} {
			c.PublisherAlone = alone
			r := Run(c)
			who := "all followers"
			if alone {
				who = "publisher alone"
			}
			fmt.Printf("%6d %8d %6d KiB  %-15s %6d/%-6d %8s %8s %8s %14.1f %14.0f B %17.1f %%\n", c.Nodes, c.Corpora, c.Change>>10, who, r.Reached, r.Followings,
				short(r.Half), short(r.Most), short(r.All), float64(r.Messages)/float64(r.Heads), float64(r.GossipBytes)/float64(r.Followings),
				100*float64(r.PublisherBytes)/float64(r.FetchedBytes))
		}
	}
}

// network is one with messages as docs/protocol.md has them and the lines of homes.
func network(nodes, corpora, change int) Config {
	return Config{
		Nodes: nodes, Corpora: corpora, Follows: 5, Mesh: 3, Note: 420, Ask: 9 << 10, Change: change,
		Up: 1.25e6, Latency: 40 * time.Millisecond, Retry: 2 * time.Second, Seed: 1,
	}
}

func short(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

// finish sums up.
func (s *sim) finish() Result {
	r := s.result
	slices.Sort(s.times)
	r.Reached = len(s.times)
	if r.Reached > 0 {
		r.Half, r.Most, r.All = s.times[(r.Reached-1)/2], s.times[(r.Reached-1)*95/100], s.times[r.Reached-1]
	}
	return r
}
