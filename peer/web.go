package peer

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
)

// A WebServer serves the resources over plain HTTP.
type WebServer struct {
	http *http.Server
	addr net.Addr
	done chan struct{} // closed when the accept loop has ended
}

// ListenHTTP serves the node's resources over plain HTTP at an address
// HOST:PORT, with the limits that streams have; a client is known by its
// network address. Whoever reaches the address can read every corpus on this
// node, and nothing else. With [Config.Gateway] raw blocks of the same documents
// stand at /ipfs/CID.
//
// At a loopback address, requests under another name than a local one are
// refused like what is not there: the page of a web site whose name leads to
// this machine cannot find out what is followed here.
func (p *Peer) ListenHTTP(addr string) (*WebServer, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve http: %w", err)
	}
	var served http.Handler = p.handler
	if p.cfg.Gateway {
		served = newGateway(p.handler)
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		served = localNames(served)
	}
	s := &WebServer{http: newServer(served), addr: l.Addr(), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.http.Serve(l) // ends with Close
	}()
	return s, nil
}

// URL returns the address of the resources.
func (s *WebServer) URL() string { return "http://" + s.addr.String() + PathPrefix }

// Close ends every request at once.
func (s *WebServer) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// localNames refuses requests for other hosts than this machine.
func localNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			w.Header()["Date"] = nil
			newReply(r.Context(), w).refuse(errNothing)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
