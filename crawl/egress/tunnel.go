package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

var errTunnelFull = errors.New("tunnel is over its limit")

// tunnel connects the client with authority and passes bytes both ways.
func (p *Proxy) tunnel(ctx context.Context, w http.ResponseWriter, authority string) {
	far, err := p.dialer.DialContext(ctx, "tcp", authority)
	if errors.Is(err, ErrDenied) {
		p.refuse(w, err.Error())
		return
	}
	if err != nil {
		http.Error(w, "no connection", http.StatusBadGateway)
		return
	}
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		far.Close()
		return
	}
	if !p.track(near, far) {
		return
	}
	defer p.untrack(near, far)
	deadline := time.Now().Add(p.cfg.Timeout)
	near.SetDeadline(deadline)
	far.SetDeadline(deadline)
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var passed atomic.Int64
	up := make(chan struct{})
	go func() {
		defer close(up)
		p.pass(far, buffered, &passed)
		far.Close() // the client is gone: so is the reason to read on
	}()
	p.pass(near, far, &passed)
	near.Close()
	<-up
}

// pass copies until either side ends or the tunnel is over its limit.
func (p *Proxy) pass(to io.Writer, from io.Reader, passed *atomic.Int64) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if passed.Add(int64(n)) > p.cfg.MaxBytes {
			return errTunnelFull
		}
		if _, werr := to.Write(buf[:n]); werr != nil {
			return werr
		}
		if err != nil {
			return err
		}
	}
}

// track notes the two ends of a tunnel, so that Close can end it. It reports
// false, with both closed, where the proxy is closed already.
func (p *Proxy) track(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		for _, c := range ends {
			c.Close()
		}
		return false
	}
	p.running.Add(1)
	for _, c := range ends {
		p.conns[c] = true
	}
	return true
}

func (p *Proxy) untrack(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		c.Close()
		delete(p.conns, c)
	}
	p.running.Done()
}
