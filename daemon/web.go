package daemon

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"arborist/daemon/api"
)

// listenForHTTP serves the corpora over plain HTTP, where an address is given
// or configured. Without a host it is one of this machine alone: whoever wants
// to be reached by others says so.
func (n *Node) listenForHTTP(addr string) error {
	if addr == "" {
		addr = n.cfg.Peer.HTTP
	}
	if addr == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return api.NewError(api.CodeUsage, fmt.Errorf("serve http at %.200q: %w", addr, err), "give HOST:PORT, for example 127.0.0.1:4780")
	}
	if host == "" {
		addr = net.JoinHostPort("127.0.0.1", port)
	}
	n.netMu.Lock()
	defer n.netMu.Unlock()
	n.web, err = n.net.ListenHTTP(addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return api.NewError(api.CodeUnavailable, err, "choose another port: arborist daemon --http HOST:PORT")
	case err != nil:
		return api.NewError(api.CodeUsage, err, "give HOST:PORT, for example 127.0.0.1:4780")
	}
	return nil
}
