package peer

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"arborist/document"
	"arborist/internal/arbtest/netsim"
)

// simWay is how long a packet takes from one host of a simulation to another.
const simWay = 5 * time.Millisecond

// A simulation has hosts in a network of its own, and in its own time: see
// [netsim]. What a test says of time holds on the busiest machine.
type simulation struct {
	t     *testing.T
	net   *netsim.Network
	hosts int
}

// simulate runs fn in a bubble.
func simulate(t *testing.T, fn func(*testing.T, *simulation)) {
	synctest.Test(t, func(t *testing.T) {
		fn(t, &simulation{t: t, net: netsim.New(t, 100e6, func() time.Duration { return simWay })})
	})
}

func (s *simulation) addr() string {
	s.hosts++
	return netsim.Addr(s.hosts)
}

// node returns a node that listens.
func (s *simulation) node(fns ...func(*Config)) *node {
	s.t.Helper()
	return newNode(s.t).up([]string{s.addr()}, append(fns, func(c *Config) { c.Transports = s.net.Transports() })...)
}

// raw returns a host that is connected to n and keeps to no rule of ours.
func (s *simulation) raw(n *node) (host.Host, libpeer.ID) {
	s.t.Helper()
	h, err := libp2p.New(s.net.Transports(), libp2p.ListenAddrStrings(s.addr()), libp2p.DisableRelay(), libp2p.DisableMetrics(),
		libp2p.ForceReachabilityPrivate(), libp2p.ResourceManager(&network.NullResourceManager{}))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { h.Close() })
	info, err := libpeer.AddrInfoFromString(n.addr())
	if err != nil {
		s.t.Fatal(err)
	}
	if err := h.Connect(s.t.Context(), *info); err != nil {
		s.t.Fatal(err)
	}
	return h, info.ID
}

func TestFiveHundredIdleStreamsHinderNobody(t *testing.T) {
	simulate(t, func(t *testing.T, sim *simulation) {
		a := sim.node()
		a.publish("main", entriesOf(t, "doc:/x", 5, 300)...)
		honest, id := sim.raw(a)
		s, err := openRaw(t.Context(), honest, id)
		if err != nil {
			t.Fatal(err)
		}
		p99 := func() time.Duration {
			times := make([]time.Duration, 200)
			for i := range times {
				start := time.Now()
				s.SetDeadline(start.Add(10 * time.Second))
				if err := ask(s, a.origin("main")+"/checkpoint"); err != nil {
					t.Fatal(err)
				}
				times[i] = time.Since(start)
			}
			slices.Sort(times)
			return times[len(times)*99/100]
		}
		before := p99()
		for range 16 {
			h, id := sim.raw(a)
			for range streamsPerPeer { // 16 × 32 = 512
				s, err := h.NewStream(t.Context(), id, ProtocolID)
				if err != nil {
					t.Fatal(err)
				}
				// Half a request each: the start of a slow-loris.
				if _, err := io.WriteString(s, "GET "+PathPrefix); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Whoever comes after them finds a place, too.
		if s, err = openRaw(t.Context(), honest, id); err != nil {
			t.Fatalf("a stream beside 512 idle ones: %v", err)
		}
		if after := p99(); after > 2*before {
			t.Errorf("honest p99 grew from %s to %s beside 512 idle streams", before, after)
		}
	})
}

// Threat 8: what is worked on for a stream, and what waits for its turn, is gone
// 100 ms after the stream. Of a search that runs, package shard's tests say so.
func TestWorkEndsWithTheStream(t *testing.T) {
	for name, end := range map[string]func(network.Stream){
		"reset": func(s network.Stream) { s.Reset() },
		"close": func(s network.Stream) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T, sim *simulation) {
				a := sim.node()
				a.publish("main", entriesOf(t, "doc:/x", 20, 64<<10)...)
				h := a.peer.handler
				begin := func(wait func(network.Stream)) (streams []network.Stream) {
					for range 8 {
						evil, id := sim.raw(a) // each has a window of its own, which it leaves full
						s, err := evil.NewStream(t.Context(), id, ProtocolID)
						if err != nil {
							t.Fatal(err)
						}
						s.SetDeadline(time.Now().Add(10 * time.Second))
						pack := resource{kind: kindPack, corpus: mustCorpus(t, a.origin("main")), width: 20}
						if _, err := io.WriteString(s, get(pack.path())); err != nil {
							t.Fatal(err)
						}
						wait(s)
						streams = append(streams, s)
					}
					return streams
				}
				over := func(what string, streams []network.Stream) {
					if n := openRequests(h); n != len(streams) {
						t.Errorf("%s: %d requests are worked on, want %d", what, n, len(streams))
					}
					for _, s := range streams {
						end(s)
					}
					time.Sleep(simWay + 100*time.Millisecond)
					if n := openRequests(h); n > 0 {
						t.Errorf("%s: %d requests are still worked on", what, n)
					}
				}
				over("sent", begin(func(s network.Stream) {
					if _, err := io.ReadFull(s, make([]byte, 1000)); err != nil {
						t.Fatal(err)
					}
				}))
				// Somebody else has all turns, and keeps them.
				for h.turns.free > 0 {
					give, err := h.turns.take(t.Context(), new(guest))
					if err != nil {
						t.Fatal(err)
					}
					defer give()
				}
				over("waiting", begin(func(network.Stream) { time.Sleep(time.Second) }))
				nothingIsHeld(t, a)
			})
		})
	}
}

func openRequests(h *handler) (n int) {
	h.guests.mu.Lock()
	defer h.guests.mu.Unlock()
	for _, g := range h.guests.table {
		n += g.open
	}
	return n
}

// nothingIsHeld checks that no read transaction and no memory is left of requests.
func nothingIsHeld(t *testing.T, a *node) {
	t.Helper()
	for _, f := range a.shared.Files() {
		if n := f.Reader().Stats().InUse; n > 0 {
			t.Errorf("%d read transactions are still open in %s", n, f.Path())
		}
	}
	g := a.peer.handler.guests
	if !g.bytes.TryAcquire(g.cfg.TotalBytes) {
		t.Fatal("memory is still held for documents that nobody reads")
	}
	g.bytes.Release(g.cfg.TotalBytes)
}

// Threat 10, with hosts: of 10,000 random roots few are looked up, and then whoever
// asks is kept away. What that costs the node that adds meanwhile, the benchmark
// BenchmarkAddBesideAFloodOfGuesses measures.
func TestOfTenThousandRandomRootsFewAreLookedUp(t *testing.T) {
	simulate(t, func(t *testing.T, sim *simulation) {
		a := sim.node()
		a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
		flooder, id := sim.raw(a)
		began := time.Now()
		var mu sync.Mutex
		codes := make(map[int]int)
		var asking sync.WaitGroup
		for i := range 10 {
			asking.Go(func() {
				for code := range guesses(t, flooder, id, a.origin("main"), i, 1000) {
					mu.Lock()
					codes[code]++
					mu.Unlock()
				}
			})
		}
		asking.Wait()
		d := ServeConfig{}.withDefaults()
		most := (float64(d.Burst) + d.Rate*time.Since(began).Seconds()) / missCost
		if n := codes[http.StatusNotFound]; n == 0 || float64(n) > most+1 {
			t.Errorf("%d random roots were looked up in %s, want at most %.0f", n, time.Since(began), most)
		}
		if n := codes[http.StatusTooManyRequests]; n == 0 || n > 10*awayAt+10 {
			t.Errorf("%d were refused before the flooder was cut off, want %d", n, 10*awayAt)
		}
		if n := len(a.peer.Peers()); n != 0 {
			t.Error("the flooder is still connected")
		}
		if err := flooder.Connect(t.Context(), libpeer.AddrInfo{ID: id}); err == nil {
			if _, err := openRaw(t.Context(), flooder, id); err == nil {
				t.Error("the flooder comes back at once")
			}
		}
		a.publish("main", entriesOf(t, "doc:/y", 2, 300)...)
		b := sim.node()
		if res := b.sync(a.addr(), a.origin("main")); res.Documents != 5 {
			t.Errorf("sync beside the flood = %+v", res)
		}
	})
}

// guesses asks for random documents over a stream, one after the other, until
// the stream is cut or n were asked for, and yields the status of each.
func guesses(t testing.TB, h host.Host, id libpeer.ID, origin string, seed, n int) func(yield func(code int) bool) {
	return func(yield func(int) bool) {
		s, err := h.NewStream(t.Context(), id, ProtocolID)
		if err != nil {
			return
		}
		defer s.Reset()
		in := bufio.NewReader(s)
		corpus := mustCorpus(t, origin)
		for i := range n {
			root := document.Root{1, byte(seed), byte(i), byte(i >> 8), byte(i >> 16)}
			if _, err := io.WriteString(s, get(resource{kind: kindDoc, corpus: corpus, root: root}.path())); err != nil {
				return
			}
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				return
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if !yield(res.StatusCode) || strings.EqualFold(res.Header.Get("Connection"), "close") {
				return
			}
		}
	}
}
