package daemon

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arborist/daemon/api"
	"arborist/internal/arbtest/spread"
	"arborist/shard/corpus"
)

// A spreading is a network of nodes that follow corpora.
type spreading struct {
	t       *testing.T
	cfg     spread.Config
	corpora []spread.Corpus
	nodes   []simNode
	dir     string // of texts
}

// network is a small one, or as large as SIM_NODES and SIM_CORPORA say. With
// SIM_DIRECTORY=0 nobody is found by the directory, which connects everybody with
// many others.
func network(t *testing.T) (cfg spread.Config, directory bool) {
	number := func(name string, or int) int {
		if v := os.Getenv(name); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 {
				t.Fatalf("%s=%q", name, v)
			}
			return n
		}
		return or
	}
	cfg = spread.Network(number("SIM_NODES", 16), number("SIM_CORPORA", 3), 40<<10)
	return cfg, os.Getenv("SIM_DIRECTORY") != "0"
}

// TestANewHeadSpreadsAsTheModelSays runs whole nodes, whose followers sync by
// themselves, over a simulated network: each corpus gets a new head at the same
// moment. make sim runs it with 1,000.
func TestANewHeadSpreadsAsTheModelSays(t *testing.T) {
	cfg, directory := network(t)
	synctest.Test(t, func(t *testing.T) {
		s := &spreading{t: t, cfg: cfg, corpora: spread.Draw(cfg), dir: tmpfs(t)}
		s.nodes = startNodes(t, cfg, func(i int, first simNode) string {
			if directory && i > 0 {
				return fmt.Sprintf("follow_all = true\nbootstrap = [%q]\n", first.addr)
			}
			return "follow_all = true\n"
		})
		for i := range s.corpora {
			s.publish(i, "first", 2<<10)
		}
		s.follow(directory)
		time.Sleep(time.Minute) // gossip finds its neighbours
		before := totals(s.nodes)
		times := s.spread()
		got, after := spread.SpreadOf(times), totals(s.nodes)
		model := spread.Run(cfg)
		if got.Reached != model.Followings {
			t.Errorf("%d of %d followers have the new head", got.Reached, model.Followings)
		}
		s.compare(got, model.Spread)
		all, publishers := s.taken()
		t.Logf("followers took %d bytes of documents and records for each new head of a corpus, %.1f %% of them from its publisher; in the model %.1f %%",
			all/int64(got.Reached), share(publishers, all), share(model.PublisherBytes, model.FetchedBytes))
		for _, name := range []string{"heads", "gossip", "corpora", "directory", "other"} {
			writes, bytes := after[name].writes-before[name].writes, after[name].bytes-before[name].bytes
			t.Logf("%-9s %8.1f messages a head, %7d bytes a follower", name, float64(writes)/float64(len(s.corpora)), bytes/int64(got.Reached))
		}
		t.Logf("the model: %.1f announcements a head, %d bytes a follower", float64(model.Messages)/float64(model.Heads), model.GossipBytes/int64(model.Followings))
	})
}

func share(part, of int64) float64 { return 100 * float64(part) / float64(max(of, 1)) }

func (s *spreading) origin(corpus int) string {
	return s.nodes[s.corpora[corpus].Nodes[0]].id + "/" + corpusNameOf(corpus)
}

func corpusNameOf(corpus int) string { return fmt.Sprintf("c%d", corpus) }

// publish adds a document of about so many bytes to a corpus.
func (s *spreading) publish(corpus int, name string, size int) {
	n, ctx := s.nodes[s.corpora[corpus].Nodes[0]], s.t.Context()
	if _, err := n.CreateCorpus(ctx, corpusNameOf(corpus)); err != nil {
		s.t.Error(err)
	}
	path := filepath.Join(s.dir, fmt.Sprintf("%s-%d.md", name, corpus))
	r := rand.New(rand.NewPCG(uint64(corpus), uint64(size)))
	var text strings.Builder
	for text.Len() < size {
		fmt.Fprintf(&text, "%x ", r.Uint32())
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		s.t.Error(err)
	}
	if _, err := n.Add(ctx, api.AddRequest{Paths: []string{path}, Corpus: corpusNameOf(corpus)}, nil); err != nil {
		s.t.Error(err)
	}
}

// follow has each follower take its corpus from one that has it, and join others:
// the later half of them find somebody by the directory, where there is one.
func (s *spreading) follow(directory bool) {
	var all sync.WaitGroup
	ctx := s.t.Context()
	for c, of := range s.corpora {
		has := make([]chan struct{}, len(of.Nodes))
		for i := range has {
			has[i] = make(chan struct{})
		}
		close(has[0])
		for i := 1; i < len(of.Nodes); i++ {
			all.Go(func() {
				defer close(has[i])
				<-has[of.Links[i][0]]
				n := s.nodes[of.Nodes[i]]
				req := api.SyncRequest{From: s.nodes[of.Nodes[of.Links[i][0]]].addr, Corpus: s.origin(c)}
				if directory && i > len(of.Nodes)/2 {
					req.From = ""
					time.Sleep(3 * time.Minute) // until the directory knows
				}
				if _, err := n.Sync(ctx, req, nil); err != nil {
					s.t.Error(err)
				}
				for _, j := range of.Links[i][1:] {
					if _, err := n.Join(ctx, s.nodes[of.Nodes[j]].addr); err != nil {
						s.t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
}

// spread has all publishers make a new head and returns after which time each
// follower had one.
func (s *spreading) spread() (times []time.Duration) {
	ctx, began := s.t.Context(), time.Now()
	var adding sync.WaitGroup
	for i := range s.corpora {
		adding.Go(func() { s.publish(i, "second", s.cfg.Change) })
	}
	adding.Wait()
	heads := make([]corpus.Info, len(s.corpora))
	missing := make(map[int][]int) // corpora by node
	left := 0
	for i, of := range s.corpora {
		heads[i] = s.stored(of.Nodes[0], i)
		for _, n := range of.Nodes[1:] {
			missing[n] = append(missing[n], i)
			left++
		}
	}
	changes := make([]uint64, len(s.nodes))
	for left > 0 && time.Since(began) < 10*time.Minute && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
		for n := range missing {
			now := s.nodes[n].shared.Corpora().Changes()
			if now == changes[n] {
				continue
			}
			changes[n] = now
			var still []int
			for _, c := range missing[n] {
				if info := s.stored(n, c); info.Size == heads[c].Size && info.Root == heads[c].Root {
					times = append(times, time.Since(began))
					left--
				} else {
					still = append(still, c)
				}
			}
			missing[n] = still
		}
	}
	return times
}

func (s *spreading) stored(node, corpus int) corpus.Info {
	info, err := s.nodes[node].shared.Corpora().Lookup(s.t.Context(), s.origin(corpus))
	if err != nil {
		s.t.Error(err)
	}
	return info
}

func (s *spreading) taken() (all, publishers int64) {
	for _, n := range s.nodes {
		n.took.mu.Lock()
		a, p := n.took.publishers()
		n.took.mu.Unlock()
		all, publishers = all+a, publishers+p
	}
	return all, publishers
}

// modelMargin is how far the times of the model may be from those of nodes.
const modelMargin = 2.0

// compare holds the model against the nodes.
func (s *spreading) compare(got, model spread.Spread) {
	s.t.Logf("%d nodes, %d corpora, %d followings", s.cfg.Nodes, s.cfg.Corpora, got.Reached)
	for _, row := range []struct {
		name       string
		got, model time.Duration
	}{{"half", got.Half, model.Half}, {"95 %", got.Most, model.Most}, {"all", got.All, model.All}} {
		s.t.Logf("%-5s of the followers after %8s, in the model %8s", row.name, row.got.Round(10*time.Millisecond), row.model.Round(10*time.Millisecond))
		if r := float64(row.got) / float64(row.model); r > modelMargin || r < 1/modelMargin {
			s.t.Errorf("%s of the followers have the new head after %s, in the model after %s", row.name, row.got, row.model)
		}
	}
}
