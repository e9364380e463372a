package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/gostream"
)

// A streamServer serves HTTP over the libp2p streams that peers open: each
// stream is one connection that carries any number of requests.
type streamServer struct {
	http *http.Server
	done chan struct{} // closed when the accept loop has ended
}

func serveStreams(h host.Host, handler http.Handler) (*streamServer, error) {
	l, err := gostream.Listen(h, ProtocolID)
	if err != nil {
		return nil, fmt.Errorf("serve streams: %w", err)
	}
	s := &streamServer{http: newServer(handler), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.http.Serve(l) // ends with close
	}()
	return s, nil
}

// newServer returns a server with all the times and sizes that bound what a
// slow or silent client costs. Replies have their own limits: see reply.
func newServer(handler http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:                      handler,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            headerTime,
		ReadTimeout:                  headerTime,
		IdleTimeout:                  idleTime,
		MaxHeaderBytes:               maxRequestHead,
		ErrorLog:                     stdlog.New(io.Discard, "", 0), // what peers do wrong is no news
	}
}

// close ends every request at once and waits for the accept loop.
func (s *streamServer) close() error {
	err := s.http.Close()
	<-s.done
	if errors.Is(err, context.Canceled) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// dialStreams returns a dial function that opens streams to one peer over the
// connection that is there. It never opens a connection.
func dialStreams(h host.Host, id libpeer.ID) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(network.WithNoDial(ctx, "connections are opened by join and sync alone"), dialTime)
		defer cancel()
		return gostream.Dial(ctx, h, id, ProtocolID)
	}
}
