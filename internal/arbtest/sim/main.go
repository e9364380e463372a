// Command sim prints what a model says of the spread of new heads over networks
// of more nodes than a test can start: see docs/scale.md.
package main

import (
	"fmt"
	"time"

	"arborist/internal/arbtest/spread"
)

func main() {
	fmt.Println("the model:")
	fmt.Println("nodes  corpora  change     who serves       reached        half     95 %      all   messages/head  gossip/follower  publishers' share")
	for _, c := range []spread.Config{spread.Network(1000, 100, 40<<10), spread.Network(1000, 100, 1<<20), spread.Network(10_000, 1000, 40<<10), spread.Network(100_000, 1000, 40<<10)} {
		for _, alone := range []bool{false, true} {
			c.PublisherAlone = alone
			r := spread.Run(c)
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

func short(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }
