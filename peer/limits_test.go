package peer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	ma "github.com/multiformats/go-multiaddr"
)

// rawHost returns a libp2p host without any limit of its own, connected to n.
func rawHost(t testing.TB, n *node) (host.Host, libpeer.ID) {
	t.Helper()
	return rawHostTo(t, n.addr())
}

func rawHostTo(t testing.TB, addr string) (host.Host, libpeer.ID) {
	t.Helper()
	h, err := libp2p.New(libp2p.NoListenAddrs, libp2p.DisableRelay(), libp2p.DisableMetrics(),
		libp2p.ForceReachabilityPrivate(), libp2p.ResourceManager(&network.NullResourceManager{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	info, err := libpeer.AddrInfoFromString(addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Connect(t.Context(), *info); err != nil {
		t.Fatal(err)
	}
	return h, info.ID
}

// openRaw opens a stream and makes sure that the other side has accepted it.
func openRaw(ctx context.Context, h host.Host, id libpeer.ID) (network.Stream, error) {
	s, err := h.NewStream(ctx, id, ProtocolID)
	if err != nil {
		return nil, err
	}
	s.SetDeadline(time.Now().Add(10 * time.Second))
	if err := ask(s, "corpora"); err != nil {
		s.Reset()
		return nil, err
	}
	return s, nil
}

// ask sends a request over a stream and reads the whole reply.
func ask(s network.Stream, path string) error {
	if _, err := io.WriteString(s, get(path)); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(s), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

func TestOneStreamTooManyIsResetAndOthersAreServed(t *testing.T) {
	for name, listen := range map[string][]string{"TCP": listenTCP, "QUIC": listenQUIC} {
		t.Run(name, func(t *testing.T) {
			a := newNode(t).up(listen)
			a.publish("main", entriesOf(t, "doc:/x", 5, 300)...)
			flooder, id := rawHost(t, a)
			for i := range streamsPerPeer {
				if _, err := openRaw(t.Context(), flooder, id); err != nil {
					t.Fatalf("stream %d of %d: %v", i+1, streamsPerPeer, err)
				}
			}
			for range 20 {
				if _, err := openRaw(t.Context(), flooder, id); err == nil {
					t.Fatalf("more than %d streams of one peer are served", streamsPerPeer)
				}
			}
			b := newNode(t).up(nil)
			if res := b.sync(a.addr(), "main"); res.Documents != 5 {
				t.Errorf("sync beside the flood = %+v", res)
			}
		})
	}
}

// Over TCP a stream that was closed, and not reset, says nothing to whoever writes
// into it: without a watch the work would go on until the time for a part of the
// reply is over.
func TestWorkForAStreamOverTCPEndsLongBeforeItsTime(t *testing.T) {
	a := newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 20, 512<<10)...)
	evil, id := rawHost(t, a)
	pack := resource{kind: kindPack, corpus: mustCorpus(t, a.origin("main")), width: 20}
	for name, end := range map[string]func(network.Stream){
		"reset": func(s network.Stream) { s.Reset() },
		"close": func(s network.Stream) { s.Close() },
	} {
		for range 8 {
			s, err := evil.NewStream(t.Context(), id, ProtocolID)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(s, get(pack.path())); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(s, make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			end(s)
		}
		began := time.Now()
		await(t, "nothing is worked on", func() bool { return openRequests(a.peer.handler) == 0 })
		if took := time.Since(began); took > writeTime/2 {
			t.Errorf("%s: work ended after %s, with the time for a part of a reply", name, took)
		}
		nothingIsHeld(t, a)
	}
}

func TestEveryLimitIsExplicit(t *testing.T) {
	cfg := scaling().ToPartialLimitConfig()
	check := func(name string, l rcmgr.ResourceLimits, conns bool) {
		t.Helper()
		limits := map[string]int{"streams": int(l.Streams), "streams in": int(l.StreamsInbound), "streams out": int(l.StreamsOutbound)}
		if conns {
			limits = map[string]int{"connections": int(l.Conns), "connections in": int(l.ConnsInbound), "connections out": int(l.ConnsOutbound), "files": int(l.FD)}
		}
		for what, n := range limits { // unlimited, blocked and the default are 0 or less
			if n <= 0 || n > 3*streamsTotal {
				t.Errorf("%s: the limit of %s is %d", name, what, n)
			}
		}
		if l.Memory <= 0 || l.Memory > memoryTotal {
			t.Errorf("%s: the limit of memory is %d", name, l.Memory)
		}
	}
	for name, l := range map[string]rcmgr.ResourceLimits{"system": cfg.System, "transient": cfg.Transient, "peer": cfg.PeerDefault} {
		check(name, l, true)
		check(name, l, false)
	}
	check("connection", cfg.Conn, true)
	for name, l := range map[string]rcmgr.ResourceLimits{
		"protocol": cfg.ProtocolDefault, "protocol peer": cfg.ProtocolPeerDefault, "stream": cfg.Stream,
		"service": cfg.ServiceDefault, "service peer": cfg.ServicePeerDefault,
	} {
		check(name, l, false)
	}
	for id, l := range cfg.Protocol {
		check(string(id), l, false)
		check(string(id)+" of a peer", cfg.ProtocolPeer[id], false)
	}
	ours := cfg.ProtocolPeer[ProtocolID]
	if ours.StreamsInbound != streamsPerPeer {
		t.Errorf("a peer may open %v streams, want %d", ours.StreamsInbound, streamsPerPeer)
	}
}

func TestOneAddressHoldsFewConnections(t *testing.T) {
	for _, c := range []struct {
		addr func(i int) string
		want int
	}{
		{func(i int) string { return fmt.Sprintf("/ip4/192.0.2.1/tcp/%d", 1000+i) }, connsPerIP},
		{func(i int) string { return fmt.Sprintf("/ip6/2001:db8:0:0:1:2:3:%x/tcp/1000", i+1) }, connsPerIP}, // one /56
	} {
		m, err := newResourceManager(blocked{func(libpeer.ID) {}})
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		for i := range 200 {
			if _, err := m.OpenConnection(network.DirInbound, true, ma.StringCast(c.addr(i))); err == nil {
				held++
			}
		}
		if held != c.want {
			t.Errorf("%d of 200 connections from around %s are held, want %d", held, c.addr(0), c.want)
		}
		// Others get in.
		if _, err := m.OpenConnection(network.DirInbound, true, ma.StringCast("/ip4/198.51.100.1/tcp/1")); err != nil {
			t.Errorf("a connection from elsewhere: %v", err)
		}
		m.Close()
	}
}
