// Package chromium renders pages in a headless Chromium of its own.
//
// A [Browser] guarantees that
//
//   - the page itself is never asked for again: the browser is given the bytes
//     that a fetcher brought;
//   - of the rest of the network it reaches only what the page's Parts rule
//     lets pass, with GET, for scripts and for what scripts ask for. Style
//     sheets are answered empty; images, video, sound, fonts, frames,
//     workers, sockets, pop-ups and downloads are not fetched at all;
//   - whatever leaves the browser leaves through an [egress.Proxy] under the
//     guard. It resolves no name itself, has no way around the proxy for
//     loopback, and what the browser asks for on its own account is refused;
//   - a page cannot leave: a navigation that its scripts start is dropped;
//   - pages share scripts in the cache, but no cookies and no storage, and
//     nothing of either is written to disk;
//   - a render ends within its limits of time and size, and the browser is
//     killed over its limit of memory. A browser that died is started again
//     for the next page;
//   - after Close, and also where this process is killed, no process of the
//     browser is left (Linux).
package chromium

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"sync"
	"time"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
)

var (
	// ErrNoBrowser: there is no Chromium on this machine, or it does not start.
	ErrNoBrowser = errors.New("no usable Chromium")
	// ErrMemory: the browser was killed over its limit of memory.
	ErrMemory = errors.New("the browser was over its memory limit")

	errClosed  = errors.New("the browser was closed")
	errTimeout = errors.New("rendering took too long")
	errCrashed = errors.New("the page crashed the browser")
)

// Config configures [New]. Every zero value means the default given.
type Config struct {
	// Path is the browser's program. Default: the first of chromium,
	// chromium-browser and google-chrome in PATH.
	Path string

	Guard     *egress.Guard // nil: public addresses, ports 80 and 443
	Resolver  *net.Resolver // default: the system's
	UserAgent string        // default: fetch.UserAgent("", "")

	Tabs    int           // pages rendered at once. Default 2
	Memory  int64         // private memory of all its processes, in bytes. Default 1 GiB
	MaxBody int64         // bytes of a rendered document. Default 10 MiB
	Timeout time.Duration // of one page, without the start of the browser. Default 15 s

	// Settle is how long a page may go on changing, or loading, before it is
	// taken as it is. Default 8 s.
	Settle time.Duration
}

// A Browser renders pages. It is started by the first page. It is safe for
// concurrent use.
type Browser struct {
	cfg   Config
	path  string
	proxy *egress.Proxy
	slots chan *slot

	mu      sync.Mutex // guards proc and closed, and is held while a browser starts
	proc    *process
	closed  bool
	closing sync.WaitGroup // tabs being closed
}

var _ fetch.Renderer = (*Browser)(nil)

// New finds the browser's program and starts the proxy that it will use. Errors
// are [ErrNoBrowser] where there is none. Close it after use.
func New(cfg Config) (*Browser, error) {
	cfg = withDefaults(cfg)
	path, err := find(cfg.Path)
	if err != nil {
		return nil, err
	}
	proxy, err := egress.NewProxy(egress.ProxyConfig{Guard: cfg.Guard, Resolver: cfg.Resolver})
	if err != nil {
		return nil, err
	}
	b := &Browser{cfg: cfg, path: path, proxy: proxy, slots: make(chan *slot, cfg.Tabs)}
	for range cfg.Tabs {
		b.slots <- &slot{}
	}
	return b, nil
}

func withDefaults(cfg Config) Config {
	if cfg.UserAgent == "" {
		cfg.UserAgent = fetch.UserAgent("", "")
	}
	if cfg.Tabs <= 0 {
		cfg.Tabs = 2
	}
	if cfg.Memory <= 0 {
		cfg.Memory = 1 << 30
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = 10 << 20
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 15 * time.Second
	}
	if cfg.Settle <= 0 {
		cfg.Settle = 8 * time.Second
	}
	return cfg
}

// find gives the path of the browser's program.
func find(path string) (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if path != "" {
		names = []string{path}
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	if path != "" {
		return "", fmt.Errorf("%w: %s is not a program", ErrNoBrowser, path)
	}
	return "", fmt.Errorf("%w: install it (on Debian: apt-get install chromium), or name its program in config.toml under [crawl] as chromium", ErrNoBrowser)
}

// Render implements [fetch.Renderer].
func (b *Browser) Render(ctx context.Context, page fetch.Shell) ([]byte, error) {
	var s *slot
	select {
	case s = <-b.slots:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	p, err := b.running(ctx)
	if err != nil {
		b.slots <- s
		return nil, err
	}
	timed, cancel := context.WithTimeoutCause(ctx, b.cfg.Timeout, errTimeout)
	defer cancel()
	t, err := b.open(timed, p, s)
	if err != nil {
		b.slots <- s
		return nil, cause(timed, err)
	}
	html, err := t.render(timed, page)
	if err == nil && int64(len(html)) > b.cfg.MaxBody {
		err = tooLarge(b.cfg.MaxBody)
	}
	err = cause(timed, t.why(err))
	// The caller does not wait for the tab to be gone; its slot does.
	b.closing.Go(func() {
		t.close(err == nil)
		b.slots <- s
	})
	return html, err
}

func tooLarge(limit int64) error {
	return fmt.Errorf("rendered document %w of %d bytes", fetch.ErrTooLarge, limit)
}

// cause gives the reason why ctx ended where it did, else err.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Close ends the browser and waits until all of its processes are gone.
func (b *Browser) Close() error {
	b.mu.Lock()
	b.closed = true
	p := b.proc
	b.proc = nil
	b.mu.Unlock()
	if p != nil {
		p.kill(errClosed)
	}
	b.closing.Wait()
	return b.proxy.Close()
}
