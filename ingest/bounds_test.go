package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"arborist/document"
	"arborist/ingest/extract"
)

// discard acknowledges everything and keeps nothing.
type discard struct{ put func() }

func (d discard) Store(_ context.Context, entries []document.Entry) ([]document.Outcome, error) {
	if d.put != nil {
		d.put()
	}
	return make([]document.Outcome, len(entries)), nil
}

func (d discard) Index(context.Context) error { return nil }

// prose returns about n bytes of text that no two numbers share.
func prose(number, n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "Sentence %d of document %d says little, and says it in many words.\n\n", i, number)
	}
	return b.Bytes()
}

func TestMemoryIsFlatForTenThousandDocuments(t *testing.T) {
	const documents, size, inFlight = 10_000, 10 << 10, 4 << 20
	var peak uint64
	puts := 0
	sample := func() {
		if puts++; puts%20 != 0 {
			return
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
	}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	src := sourceFunc(func(_ context.Context, emit func(Raw) error) error {
		for i := range documents {
			r := raw(fmt.Sprintf("test:%d", i), "")
			r.Body = prose(i, size)
			if err := emit(r); err != nil {
				return err
			}
		}
		return nil
	})
	report, err := Run(t.Context(), src, discard{sample}, Config{InFlight: inFlight}, nil)
	if err != nil || report.Documents != documents {
		t.Fatalf("%d documents, %v", report.Documents, err)
	}
	grown := int64(peak) - int64(before.HeapAlloc)
	t.Logf("%d MiB through, at most %d KiB live above the start", report.Bytes>>20, grown>>10)
	if puts < 20 || grown > 3*inFlight {
		t.Errorf("%d puts, %d KiB live, want at most %d", puts, grown>>10, 3*inFlight>>10)
	}
}

func TestBytesInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var emitted atomic.Int64
		release := make(chan struct{})
		src := sourceFunc(func(_ context.Context, emit func(Raw) error) error {
			for i := range 100 {
				r := raw(fmt.Sprintf("test:%d", i), "")
				r.Body = prose(i, 100<<10)
				if err := emit(r); err != nil {
					return err
				}
				emitted.Add(1)
			}
			return nil
		})
		s := &store{before: func(context.Context, []document.Entry) error { <-release; return nil }}
		done := make(chan error)
		go func() {
			_, err := Run(t.Context(), src, s, Config{InFlight: 1 << 20, Batch: 3}, nil)
			done <- err
		}()
		synctest.Wait()
		if n := emitted.Load(); n < 5 || n > 11 {
			t.Errorf("%d documents of 100 KiB were taken into 1 MiB", n)
		}
		close(release)
		if err := <-done; err != nil || len(s.entries) != 100 {
			t.Errorf("%d stored, %v", len(s.entries), err)
		}
	})
}

func TestFailedDocumentsGiveTheirBytesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l list
		for i := range 100 {
			l.raws = append(l.raws, raw(fmt.Sprintf("test:%d", i), "\x7fELF"+string(make([]byte, 10<<10))))
		}
		report, err := Run(t.Context(), l, &store{}, Config{InFlight: 50 << 10}, nil)
		if err != nil || len(report.Failed) != 100 {
			t.Errorf("%d failed, %v", len(report.Failed), err)
		}
	})
}

// Once a page is text, its raw bytes are gone and do not count.
func TestBudgetCountsTextOnceItIsExtracted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var emitted atomic.Int64
		page := "<p>text</p><!--" + strings.Repeat("x", 60<<10) + "-->"
		src := sourceFunc(func(_ context.Context, emit func(Raw) error) error {
			for i := range 20 {
				r := raw(fmt.Sprintf("test:%d", i), page)
				r.Location.ContentType = "text/html"
				if err := emit(r); err != nil {
					return err
				}
				emitted.Add(1)
			}
			return nil
		})
		release := make(chan struct{})
		s := &store{before: func(context.Context, []document.Entry) error { <-release; return nil }}
		done := make(chan error)
		go func() {
			_, err := Run(t.Context(), src, s, Config{InFlight: 100 << 10, Batch: 1}, nil)
			done <- err
		}()
		synctest.Wait()
		if n := emitted.Load(); n < 20 {
			t.Errorf("%d pages were taken, the text of all 20 fits", n)
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestDocumentOverTheBudgetPassesAlone(t *testing.T) {
	l := numbered(5)
	l.raws[2].Body = prose(2, 1<<20)
	report, err := Run(t.Context(), l, &store{}, Config{InFlight: 64 << 10}, nil)
	if err != nil || report.Documents != 5 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestDocumentOverTheLimitFailsByName(t *testing.T) {
	l := numbered(3)
	l.raws[1].Body = prose(1, 2<<10)
	report, err := Run(t.Context(), l, &store{}, Config{MaxRaw: 1 << 10}, nil)
	if err != nil || report.Documents != 2 || len(report.Failed) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	f := report.Failed[0]
	if f.URI != "test:1" || !errors.Is(f.Err, ErrTooLarge) || !strings.Contains(f.Err.Error(), "1024") {
		t.Errorf("%s: %v", f.URI, f.Err)
	}
}

func TestBatchesEndByCountAndByBytes(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		most int
	}{
		"count": {Config{Batch: 7}, 7},
		"bytes": {Config{BatchBytes: 4 << 10}, 5}, // of about 1 KiB
	} {
		t.Run(name, func(t *testing.T) {
			var l list
			for i := range 100 {
				l.raws = append(l.raws, raw(fmt.Sprintf("test:%d", i), string(prose(i, 1000))))
			}
			most := 0
			s := &store{before: func(_ context.Context, e []document.Entry) error { most = max(most, len(e)); return nil }}
			if _, err := Run(t.Context(), l, s, c.cfg, nil); err != nil || len(s.entries) != 100 {
				t.Fatalf("%d stored, %v", len(s.entries), err)
			}
			if most > c.most || most < 2 {
				t.Errorf("the largest batch has %d entries, want at most %d and more than one", most, c.most)
			}
		})
	}
}

// A full budget must not wait for a batch that cannot fill up.
func TestFullBudgetPutsTheBatchAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l list
		for i := range 40 {
			l.raws = append(l.raws, raw(fmt.Sprintf("test:%d", i), string(prose(i, 20<<10))))
		}
		begun := time.Now()
		report, err := Run(t.Context(), l, &store{}, Config{InFlight: 50 << 10, BatchWait: time.Hour}, nil)
		if err != nil || report.Documents != 40 {
			t.Fatalf("%+v, %v", report, err)
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("waited %v", took)
		}
	})
}

// While one document takes long, those before it are stored, those after it
// wait: they are in order, and nothing is lost.
func TestSlowDocumentDoesNotHoldUpThoseBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		slow := func(ctx context.Context, typ, uri string, body []byte) (extract.Text, error) {
			if uri == "test:5" {
				time.Sleep(time.Minute)
				s.mu.Lock()
				defer s.mu.Unlock()
				if len(s.entries) != 5 {
					t.Errorf("%d stored meanwhile, want 5", len(s.entries))
				}
			}
			return extract.Extract(ctx, typ, uri, body)
		}
		if _, err := Run(t.Context(), numbered(20), s, Config{Workers: 2, Extract: slow}, nil); err != nil {
			t.Fatal(err)
		}
		for i, e := range s.entries {
			if want := fmt.Sprintf("test:%d", i); e.Location.URI != want {
				t.Fatalf("entry %d is %s", i, e.Location.URI)
			}
		}
	})
}
