// Package stranger is a peer that knows the protocol page and nothing else: a
// libp2p host of its own, with no store and no code of the peer package beside
// two names. Tests and the demo use it to see replies as they come.
package stranger

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"arborist/peer"
)

// A Stranger is connected to one node.
type Stranger struct {
	host host.Host
	to   libpeer.ID
}

// A Reply is one HTTP reply as it came.
type Reply struct {
	Status int
	Raw    string // status line, headers and body
}

// Dial connects a new stranger to the node at a full multiaddr.
func Dial(ctx context.Context, addr string) (*Stranger, error) {
	info, err := libpeer.AddrInfoFromString(addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	h, err := libp2p.New(libp2p.NoListenAddrs)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	if err := h.Connect(ctx, *info); err != nil {
		h.Close()
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	return &Stranger{h, info.ID}, nil
}

// Close closes the connection.
func (s *Stranger) Close() error { return s.host.Close() }

// Get asks for a path below [peer.PathPrefix].
func (s *Stranger) Get(ctx context.Context, path string) (Reply, error) {
	return s.Do(ctx, http.MethodGet, path)
}

// Do asks with any method.
func (s *Stranger) Do(ctx context.Context, method, path string) (Reply, error) {
	stream, err := s.host.NewStream(ctx, s.to, peer.ProtocolID)
	if err != nil {
		return Reply{}, err
	}
	defer stream.Reset()
	req, err := http.NewRequestWithContext(ctx, method, "http://peer"+peer.PathPrefix+path, nil)
	if err != nil {
		return Reply{}, err
	}
	if err := req.Write(stream); err != nil {
		return Reply{}, err
	}
	res, err := http.ReadResponse(bufio.NewReader(stream), req)
	if err != nil {
		return Reply{}, fmt.Errorf("read reply to %s %s: %w", method, path, err)
	}
	defer res.Body.Close()
	raw, err := httputil.DumpResponse(res, true)
	return Reply{res.StatusCode, string(raw)}, err
}
