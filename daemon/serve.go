package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"arborist/daemon/api"
)

// maxSocketPath is what the kernel takes as a unix socket's path, with room
// for its end.
const maxSocketPath = 104

// stopWait is how long calls may take to end after a stop. Then they are cut:
// the stores keep what was acknowledged.
const stopWait = 10 * time.Second

// Serve runs a node in the foreground until ctx ends: peers can reach it, and
// its owner's commands go through its unix socket. ready, if not nil, is
// called once both are up.
func Serve(ctx context.Context, opts Options, ready func(*Node)) (err error) {
	n, err := Open(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	for _, problem := range n.headProblems {
		n.log.Error(problem)
	}
	l, err := listenSocket(opts.Home.Socket())
	if err != nil {
		return err
	}
	defer l.Close() // removes the socket file
	if err := n.listenForPeers(); err != nil {
		return err
	}
	if err := n.listenForHTTP(opts.HTTP); err != nil {
		return err
	}
	n.startGuard()

	// Requests see the stop at once, so that a crawl or sync in flight ends in
	// a good state within stopWait.
	srv := &http.Server{
		Handler:           api.Handler(n),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	if ready != nil {
		ready(n)
	}
	go newHeapKeeper().run(ctx)
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", opts.Home.Socket(), err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		srv.Close()
	}
	<-served
	return nil
}

// listenSocket listens on a unix socket that only the owner can reach. The
// caller holds the home's lock, so a socket file that is there is a dead
// daemon's.
func listenSocket(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, api.NewError(api.CodeUsage, fmt.Errorf("listen at %s: the path is over %d bytes", path, maxSocketPath), "use a --home with a shorter path")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen: %w", err)
	}
	// The folder is 0700 already; the mode of the socket itself must not
	// depend on the umask in the moment between listen and chmod.
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}
