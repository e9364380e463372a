package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"arborist/document"
	"arborist/ingest/extract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// list is a source of given documents; fails are reported on the way.
type list struct {
	raws  []Raw
	fails []string
}

func (l list) Documents(_ context.Context, emit func(Raw) error, fail func(string, error)) error {
	for _, u := range l.fails {
		fail(u, errors.New("unreadable"))
	}
	for _, r := range l.raws {
		if err := emit(r); err != nil {
			return err
		}
	}
	return nil
}

func raw(uri, text string) Raw {
	return Raw{Location: document.Location{URI: uri, ContentType: "text/plain", Source: "test"}, Body: []byte(text)}
}

// store is a sink in memory. before, if set, runs at the start of each Store.
type store struct {
	before func(context.Context, []document.Entry) error

	mu      sync.Mutex
	entries []document.Entry
	puts    int
}

func (s *store) Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	if s.before != nil {
		if err := s.before(ctx, entries); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts++
	s.entries = append(s.entries, entries...)
	out := make([]document.Outcome, len(entries))
	for i := range out {
		out[i].New = true
	}
	return out, nil
}

func (s *store) Index(context.Context) error { return nil }

func numbered(n int) list {
	var l list
	for i := range n {
		l.raws = append(l.raws, raw(fmt.Sprintf("test:%d", i), fmt.Sprintf("Document number %d.", i)))
	}
	return l
}

func TestEveryDocumentReachesTheSinkOnce(t *testing.T) {
	s := &store{}
	var last Progress
	report, err := Run(t.Context(), numbered(1000), s, Config{}, func(p Progress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range s.entries {
		seen[e.Location.URI]++
	}
	if len(seen) != 1000 || len(s.entries) != 1000 || report.Documents != 1000 || report.New != 1000 {
		t.Errorf("%d URIs in %d entries, report %+v", len(seen), len(s.entries), report)
	}
	if last.Documents != report.Documents || last.Bytes != report.Bytes {
		t.Errorf("last progress %+v, report %+v", last, report)
	}
}

func TestOneBadDocumentStopsNothing(t *testing.T) {
	l := numbered(50)
	l.fails = []string{"test:unreadable"}
	l.raws[7].Body = nil
	l.raws[8].Body = []byte("\x7fELF\x00\x00")
	l.raws[9].Location.ContentType = "application/octet-stream"
	l.raws[9].Body = []byte{0, 1, 2, 3, 0xff, 0}
	l.raws[10].Location.URI = "test:bad\x00uri"
	panics := func(ctx context.Context, typ, uri string, body []byte) (extract.Text, error) {
		if uri == "test:11" {
			panic("a library went wrong")
		}
		return extract.Extract(ctx, typ, uri, body)
	}
	s := &store{}
	report, err := Run(t.Context(), l, s, Config{Extract: panics}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Documents != 45 || len(report.Failed) != 6 {
		t.Fatalf("%d documents, failed: %v", report.Documents, report.Failed)
	}
	for _, f := range report.Failed {
		if f.Err == nil || f.URI == "" {
			t.Errorf("a failure without a name or a reason: %+v", f)
		}
		if f.URI == "test:11" && !errors.Is(f.Err, ErrPanic) {
			t.Errorf("the panic was reported as %v", f.Err)
		}
	}
}

func TestFailureListIsBoundedAndCounted(t *testing.T) {
	l := numbered(300)
	for i := range l.raws {
		l.raws[i].Body = nil
	}
	report, err := Run(t.Context(), l, &store{}, Config{MaxFailures: 10}, nil)
	if err != nil || len(report.Failed) != 10 || report.Unlisted != 290 {
		t.Errorf("%d listed, %d unlisted, %v", len(report.Failed), report.Unlisted, err)
	}
}

func TestSinkErrorEndsTheRunAndCountsOnlyWhatWasAcknowledged(t *testing.T) {
	full := errors.New("disk is full")
	puts := 0
	s := &store{}
	s.before = func(context.Context, []document.Entry) error {
		if puts++; puts == 4 {
			return full
		}
		return nil
	}
	report, err := Run(t.Context(), numbered(500), s, Config{Batch: 10}, nil)
	if !errors.Is(err, full) {
		t.Fatalf("error %v", err)
	}
	if report.Documents != len(s.entries) || report.Documents != 30 {
		t.Errorf("%d reported, %d stored", report.Documents, len(s.entries))
	}
}

func TestWrongNumberOfOutcomesIsAStoreError(t *testing.T) {
	_, err := Run(t.Context(), numbered(3), shortSink{}, Config{}, nil)
	if !errors.Is(err, ErrSink) {
		t.Errorf("error %v", err)
	}
}

type shortSink struct{}

func (shortSink) Store(context.Context, []document.Entry) ([]document.Outcome, error) {
	return nil, nil
}

func (shortSink) Index(context.Context) error { return nil }

func TestVersionsOfOneURIReachTheSinkInOrder(t *testing.T) {
	var l list
	for i := range 200 {
		// A long document before a short one of the same URI, so that workers
		// would overtake each other if nothing held them.
		l.raws = append(l.raws, raw(fmt.Sprintf("test:%d", i%3), strings.Repeat(fmt.Sprintf("version %d ", i), 1+(i%2)*2000)))
	}
	s := &store{}
	if _, err := Run(t.Context(), l, s, Config{Workers: 8, Batch: 5}, nil); err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for _, e := range s.entries {
		var v int
		if _, err := fmt.Sscanf(string(e.Document.Chunk(0)), "version %d", &v); err != nil {
			t.Fatal(err)
		}
		if prev, ok := last[e.Location.URI]; ok && v < prev {
			t.Fatalf("%s: version %d came after %d", e.Location.URI, v, prev)
		}
		last[e.Location.URI] = v
	}
}

func TestSlowSinkHoldsTheSourceBack(t *testing.T) {
	var emitted atomic.Int64
	var release chan struct{}
	src := sourceFunc(func(ctx context.Context, emit func(Raw) error) error {
		for i := range 10_000 {
			if err := emit(raw(fmt.Sprintf("test:%d", i), "text")); err != nil {
				return err
			}
			emitted.Add(1)
		}
		return nil
	})
	synctest.Test(t, func(t *testing.T) {
		s := &store{before: func(context.Context, []document.Entry) error { <-release; return nil }}
		release = make(chan struct{})
		done := make(chan error, 1)
		go func() { _, err := Run(t.Context(), src, s, Config{Queue: 64, Batch: 10}, nil); done <- err }()
		synctest.Wait()
		if n := emitted.Load(); n > 100 {
			t.Errorf("%d documents were taken while the sink stood still, the queue is 64", n)
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestSlowSourceIsStoredSoonAfterEachPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		src := sourceFunc(func(ctx context.Context, emit func(Raw) error) error {
			for i := range 5 {
				if err := emit(raw(fmt.Sprintf("test:%d", i), "text")); err != nil {
					return err
				}
				time.Sleep(2 * time.Second) // as a polite crawl does
				s.mu.Lock()
				if len(s.entries) != i+1 {
					t.Errorf("2 s after page %d, %d are stored", i, len(s.entries))
				}
				s.mu.Unlock()
			}
			return nil
		})
		if _, err := Run(t.Context(), src, s, Config{}, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestCancellationKeepsWhatWasAcknowledgedAndLeavesNothingRunning(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &store{}
	src := sourceFunc(func(ctx context.Context, emit func(Raw) error) error {
		for i := 0; ; i++ {
			if i == 500 {
				cancel()
			}
			if err := emit(raw(fmt.Sprintf("test:%d", i), "text")); err != nil {
				return err
			}
		}
	})
	report, err := Run(ctx, src, s, Config{Batch: 10}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if report.Documents != len(s.entries) {
		t.Errorf("%d reported, %d stored", report.Documents, len(s.entries))
	}
	// goleak in TestMain sees whatever is left.
}

type sourceFunc func(context.Context, func(Raw) error) error

func (f sourceFunc) Documents(ctx context.Context, emit func(Raw) error, _ func(string, error)) error {
	return f(ctx, emit)
}
