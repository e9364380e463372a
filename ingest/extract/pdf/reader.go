package pdf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Config says how a [Reader] works.
type Config struct {
	Command Command       // what is started; needed
	Cache   string        // folder for compiled code, made where it is not there; needed
	Workers int           // at most; 0: one for each CPU, at most 4
	Idle    time.Duration // after which a worker without work is ended; 0: 30 s
	Limits  Limits
}

// A Reader reads files with workers that it starts when they are needed. It is
// safe for concurrent use.
type Reader struct {
	cfg   Config
	slots chan struct{} // held by each Read

	starting sync.Mutex // workers start one after the other: the first one compiles for all

	mu     sync.Mutex
	idle   []*process // guarded by mu
	closed bool       // guarded by mu
}

// NewReader starts nothing yet.
func NewReader(cfg Config) *Reader {
	if cfg.Workers <= 0 {
		cfg.Workers = min(runtime.GOMAXPROCS(0), 4)
	}
	if cfg.Idle <= 0 {
		cfg.Idle = 30 * time.Second
	}
	cfg.Limits = cfg.Limits.withDefaults()
	return &Reader{cfg: cfg, slots: make(chan struct{}, cfg.Workers)}
}

// Read reads a file. Where its worker dies, which others can bring about, the
// file is tried once more. Errors are [ErrFormat], [ErrEncrypted], [ErrLimit],
// [ErrWorker], [ErrClosed] and the context's.
func (r *Reader) Read(ctx context.Context, file []byte) (Document, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Document{}, context.Cause(ctx)
	}
	doc, err := r.attempt(ctx, file)
	if errors.Is(err, errDied) {
		doc, err = r.attempt(ctx, file)
	}
	if errors.Is(err, errDied) || errors.Is(err, errFrame) {
		err = fmt.Errorf("%w: %w, twice", ErrLimit, err)
	}
	return doc, err
}

// attempt reads a file with one worker.
func (r *Reader) attempt(ctx context.Context, file []byte) (Document, error) {
	p, err := r.take(ctx)
	if err != nil {
		return Document{}, err
	}
	doc, err := p.read(ctx, r.cfg.Limits, file)
	if err == nil || errors.Is(err, ErrFormat) || errors.Is(err, ErrEncrypted) {
		r.give(p)
	} else {
		p.kill()
	}
	return doc, err
}

// take gives an idle worker, or a new one.
func (r *Reader) take(ctx context.Context) (*process, error) {
	if p, err := r.takeIdle(); p != nil || err != nil {
		return p, err
	}
	r.starting.Lock()
	defer r.starting.Unlock()
	os.MkdirAll(r.cfg.Cache, 0o700) // where that fails, workers do without and compile at each start
	p, err := startProcess(ctx, r.cfg.Command, r.cfg.Cache)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrWorker, err)
	}
	return p, nil
}

func (r *Reader) takeIdle() (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	if len(r.idle) == 0 {
		return nil, nil
	}
	p := r.idle[len(r.idle)-1]
	r.idle = r.idle[:len(r.idle)-1]
	p.retire.Stop()
	return p, nil
}

// give puts a worker aside for the next file, and ends it where none comes.
func (r *Reader) give(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		p.kill()
		return
	}
	r.idle = append(r.idle, p)
	p.retire = time.AfterFunc(r.cfg.Idle, func() { r.retire(p) })
}

// retire ends a worker, unless it has found work in the meantime.
func (r *Reader) retire(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.idle, p); i >= 0 {
		r.idle = slices.Delete(r.idle, i, i+1)
		p.kill()
	}
}

// Close ends the workers, once the files that are being read are done. A second
// Close does nothing.
func (r *Reader) Close() {
	r.mu.Lock()
	r.closed = true
	for _, p := range r.idle {
		p.retire.Stop()
		p.kill()
	}
	r.idle = nil
	r.mu.Unlock()
	for range cap(r.slots) {
		r.slots <- struct{}{}
	}
	for range cap(r.slots) {
		<-r.slots
	}
}
