// Package spread has networks of nodes that follow corpora, and a model of how
// new heads travel in them. The test of real nodes in package daemon takes its
// networks from here, so both can be compared: docs/scale.md has what came of it.
package spread

import (
	"math"
	"math/rand/v2"
)

// A Corpus is who follows it and who knows whom.
type Corpus struct {
	Nodes []int // the publisher, then the followers
	// Links holds whom each of them has connected to, by place in Nodes. The
	// first of each follower is one before it, from whom it got the corpus.
	Links [][]int
}

// Draw returns the corpora of a network. The same one comes of the same Config.
func Draw(cfg Config) []Corpus {
	r := rand.New(rand.NewPCG(cfg.Seed, 2))
	corpora := make([]Corpus, cfg.Corpora)
	// Followers by Zipf's law with exponent 1, Follows for each node in all.
	harmonic := math.Log(float64(cfg.Corpora)) + 0.5772
	for i := range corpora {
		share := cfg.Follows * float64(cfg.Nodes) / harmonic / float64(i+1)
		count := min(max(int(share), 1), cfg.Nodes-1) + 1
		c := Corpus{Nodes: r.Perm(cfg.Nodes)[:count], Links: make([][]int, count)}
		for j := 1; j < count; j++ {
			c.Links[j] = []int{r.IntN(j)}
			for range cfg.Mesh - 1 {
				if k := r.IntN(count); k != j {
					c.Links[j] = append(c.Links[j], k)
				}
			}
		}
		corpora[i] = c
	}
	return corpora
}
