package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ProxyConfig configures [NewProxy]. Every zero value means the default given.
type ProxyConfig struct {
	Guard    *Guard
	Resolver *net.Resolver // nil: the system's

	// MaxBytes limits what one answer, or one tunnel, may bring. Default 32 MiB.
	MaxBytes int64

	// Timeout limits one request, and the life of one tunnel. Default 60 s.
	Timeout time.Duration
}

// A Proxy is an HTTP proxy on loopback, for a program whose own network must
// stay behind a guard: a browser. It guarantees that
//
//   - only origins that were let through with [Proxy.Let] are contacted, and
//     nothing before the first of them;
//   - every connection goes through a [Dialer]: names are resolved here, each
//     address is judged, and the one that was judged is dialled;
//   - nothing but GET and HEAD goes out in the open, without cookies; a tunnel
//     is opened for https origins alone;
//   - answers and tunnels end at their limits of bytes and time.
type Proxy struct {
	cfg       ProxyConfig
	ln        net.Listener
	server    *http.Server
	transport *http.Transport
	dialer    *Dialer
	denied    atomic.Int64

	mu      sync.Mutex
	let     map[string]int // origins, and how many callers let them through
	conns   map[net.Conn]bool
	closed  bool
	running sync.WaitGroup // tunnels, and the server
}

// NewProxy starts a proxy on a free port of 127.0.0.1. Close it after use.
func NewProxy(cfg ProxyConfig) (*Proxy, error) {
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 32 << 20
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the guarded proxy: %w", err)
	}
	p := &Proxy{cfg: cfg, ln: ln, let: map[string]int{}, conns: map[net.Conn]bool{}}
	p.dialer = &Dialer{Guard: cfg.Guard, Resolver: cfg.Resolver}
	p.transport = &http.Transport{
		Proxy: nil, DialContext: p.dialer.DialContext, DisableCompression: true,
		MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
		MaxResponseHeaderBytes: 256 << 10, ResponseHeaderTimeout: cfg.Timeout,
	}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: cfg.Timeout, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // a browser drops connections all the time
	}
	p.running.Go(func() { p.server.Serve(ln) })
	return p, nil
}

// Addr is where the proxy listens, as host and port.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Denied gives how many requests and tunnels were refused.
func (p *Proxy) Denied() int64 { return p.denied.Load() }

// Let lets requests to the origin of an http or https URL through, until
// revoke has been called as often as Let was. The guard still judges where
// they lead.
func (p *Proxy) Let(u *url.URL) (revoke func(), err error) {
	if err := p.cfg.Guard.CheckURL(u); err != nil {
		return nil, err
	}
	origin, err := originOf(u.Scheme, u.Host)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.let[origin]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.let[origin]--; p.let[origin] <= 0 {
			delete(p.let, origin)
		}
	}), nil
}

// Close ends every connection and waits for what served them.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	err := p.server.Close()
	p.running.Wait()
	p.transport.CloseIdleConnections()
	return err
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), p.cfg.Timeout)
	defer cancel()
	switch {
	case r.Method == http.MethodConnect:
		if !p.isLet("https", r.Host) {
			p.refuse(w, "this tunnel was not let through")
			return
		}
		p.tunnel(ctx, w, r.Host)
	case r.URL.Scheme != "http" || r.URL.Host == "" || r.Method != http.MethodGet && r.Method != http.MethodHead:
		p.refuse(w, "only GET and HEAD of http addresses pass")
	case r.Header.Get("Upgrade") != "" || !p.isLet("http", r.URL.Host):
		p.refuse(w, "this address was not let through")
	default:
		p.forward(ctx, w, r)
	}
}

func (p *Proxy) refuse(w http.ResponseWriter, why string) {
	p.denied.Add(1)
	http.Error(w, why, http.StatusForbidden)
}

func (p *Proxy) isLet(scheme, authority string) bool {
	origin, err := originOf(scheme, authority)
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.let[origin] > 0
}

// originOf gives scheme, canonical host and port in one spelling.
func originOf(scheme, authority string) (string, error) {
	host, err := canonicalHost(authority)
	if err != nil {
		return "", fmt.Errorf("%w: no usable host in %.100q", ErrDenied, authority)
	}
	port := (&url.URL{Host: authority}).Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}

// forward asks for r's address and hands the answer on.
func (p *Proxy) forward(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	out := r.Clone(ctx)
	out.RequestURI, out.Body, out.ContentLength, out.Close = "", nil, 0, false
	for name := range out.Header {
		if hopByHop(name) || strings.Contains(name, "Cookie") {
			out.Header.Del(name)
		}
	}
	resp, err := p.transport.RoundTrip(out)
	if err != nil {
		if errors.Is(err, ErrDenied) {
			p.refuse(w, err.Error())
			return
		}
		http.Error(w, "no answer", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		if !hopByHop(name) && name != "Set-Cookie" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	n, err := io.Copy(w, io.LimitReader(resp.Body, p.cfg.MaxBytes+1))
	if err != nil || n > p.cfg.MaxBytes {
		panic(http.ErrAbortHandler) // cuts the connection: a short answer must not pass for a whole one
	}
}

// hopByHop reports whether a header is for one connection alone.
func hopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return strings.HasPrefix(name, "Proxy-")
}
