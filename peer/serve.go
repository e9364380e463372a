package peer

import (
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"

	"github.com/libp2p/go-libp2p/core/host"
)

// A streamServer serves HTTP over the libp2p streams that peers open: each
// stream is one connection that carries any number of requests.
type streamServer struct {
	http *http.Server
	done chan struct{} // closed when the accept loop has ended
}

func serveStreams(h host.Host, handler http.Handler, t *traffic) *streamServer {
	l := listenStreams(h, t)
	s := &streamServer{http: newServer(handler), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.http.Serve(l) // ends with close
	}()
	return s
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
	if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
