package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	wire "arborist/peer"
)

// A guest asks a node for resources, over streams of its own host.
type guest struct {
	host host.Host
	http *http.Client
}

func newGuest(ctx context.Context, addr string, streams int) (*guest, error) {
	to, err := peer.AddrInfoFromString(addr)
	if err != nil {
		return nil, err
	}
	h, err := newHost(libp2p.NoListenAddrs)
	if err != nil {
		return nil, err
	}
	g := &guest{host: h, http: &http.Client{Transport: &http.Transport{MaxConnsPerHost: streams, MaxIdleConnsPerHost: streams, DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			s, err := h.NewStream(network.WithNoDial(ctx, "it is connected or it is not"), to.ID, wire.ProtocolID)
			if err != nil {
				return nil, err
			}
			return conn{s}, nil
		}}}}
	return g, errors.Join(h.Connect(ctx, *to))
}

// A conn is a stream as a network connection.
type conn struct{ network.Stream }

// LocalAddr implements [net.Conn].
func (conn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements [net.Conn].
func (conn) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// get asks for a resource and reads it whole.
func (g *guest) get(ctx context.Context, path string) (status int, content []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://peer"+wire.PathPrefix+path, nil)
	if err != nil {
		return 0, nil, err
	}
	res, err := g.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	content, err = io.ReadAll(res.Body)
	return res.StatusCode, content, err
}

// crowd connects many peers to one daemon, and lets others flood it while one asks
// for proofs at its ease.
func (b *bench) crowd() error {
	n, paths, err := b.served("crowd")
	if err != nil {
		return err
	}
	defer n.stop()
	guests := make([]*guest, b.peers)
	defer func() {
		for _, g := range guests {
			if g != nil {
				g.host.Close()
			}
		}
	}()
	var dials sync.WaitGroup
	var failed atomic.Int64
	next := make(chan int)
	for range 8 {
		dials.Go(func() {
			for i := range next {
				var err error
				if guests[i], err = newGuest(b.ctx, n.addr, 1); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	for i := range guests {
		next <- i
	}
	close(next)
	dials.Wait()
	time.Sleep(5 * time.Second)
	held := 0
	for _, g := range guests {
		if g != nil && len(g.host.Network().Conns()) > 0 {
			held++
		}
	}
	row(fmt.Sprintf("%d peers dial (%d failed), %d are connected", b.peers, failed.Load(), held), fmt.Sprintf("RSS %.0f MiB", mib(n.rss())), "< 512 MB")
	if err := b.besideFlood(n, paths, "sharing two processors with it"); err != nil {
		return err
	}
	// Floods come from other machines. This one has the flooders stand back behind the
	// daemon and the honest peer.
	if out, err := exec.CommandContext(b.ctx, "chrt", "--all-tasks", "--rr", "--pid", "1", strconv.Itoa(n.cmd.Process.Pid)).CombinedOutput(); err != nil {
		row("  with the flood behind them on the processors", "not measured: chrt: "+strings.TrimSpace(string(out)), "<= 2 x")
		return nil
	}
	return b.besideFlood(n, paths, "ahead of it on the processors", "chrt", "--rr", "2")
}

// besideFlood paces a node without and beside a flood. The words of before start
// the honest peer.
func (b *bench) besideFlood(n *node, paths []string, how string, before ...string) error {
	calm, err := b.pace(n.addr, paths, before...)
	if err != nil {
		return err
	}
	stop, err := b.flood(n.addr, paths)
	if err != nil {
		return err
	}
	beside, err := b.pace(n.addr, paths, before...)
	said, stopped := stop()
	if err = errors.Join(err, stopped); err != nil {
		return err
	}
	row("  honest proofs, p50 and p99, calm", fmt.Sprintf("%.1f and %.1f ms", ms(calm, 50), ms(calm, 99)), "")
	row(fmt.Sprintf("  beside %d that flood, %d streams each (%d asked, %d refused)", flooders, floodStreams, said.Asked, said.Refused),
		fmt.Sprintf("%.1f and %.1f ms; RSS %.0f MiB", ms(beside, 50), ms(beside, 99), mib(n.rss())), "")
	row("  p99 beside the flood / calm, "+how, fmt.Sprintf("%.1f x", ms(beside, 99)/ms(calm, 99)), "<= 2 x")
	return nil
}

func ms(sorted []time.Duration, percent int) float64 {
	return float64(sorted[len(sorted)*percent/100].Microseconds()) / 1e3
}

// served starts a node with some documents and returns the paths of their proofs.
func (b *bench) served(name string) (*node, []string, error) {
	dir := filepath.Join(b.dir, name)
	if _, err := tree(dir, 1000, 3, small); err != nil {
		return nil, nil, err
	}
	n, err := b.newNode(name + ".node")
	if err != nil {
		return nil, nil, err
	}
	if err := n.add(dir); err != nil {
		return nil, nil, err
	}
	paths, err := n.proofPaths()
	return n, paths, err
}
