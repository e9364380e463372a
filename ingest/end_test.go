package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arborist/document"
	"arborist/ingest/extract"
)

// Wherever the end comes, the report says what the store has, and goleak (in
// TestMain) sees that nothing runs on.
func TestCancellationAnywhereLeavesAGoodState(t *testing.T) {
	enough := errors.New("enough")
	for _, where := range []string{"emit", "extract", "put", "after put"} {
		for _, at := range []int{0, 1, 7, 39, 40, 99} {
			t.Run(fmt.Sprintf("%s %d", where, at), func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var mu sync.Mutex
				counts := map[string]int{}
				step := func(name string) {
					mu.Lock()
					defer mu.Unlock()
					if name == where && counts[name] == at {
						cancel(enough)
					}
					counts[name]++
				}
				src := sourceFunc(func(_ context.Context, emit func(Raw) error) error {
					for i := range 100 {
						step("emit")
						if err := emit(raw(fmt.Sprintf("test:%d", i), fmt.Sprintf("text %d", i))); err != nil {
							return err
						}
					}
					return nil
				})
				s := &store{before: func(ctx context.Context, _ []document.Entry) error {
					step("put")
					if at%2 == 0 { // as stores do that were interrupted
						return ctx.Err()
					}
					return context.Cause(ctx)
				}}
				cfg := Config{Workers: 3, Batch: 1, Queue: 8, Extract: func(ctx context.Context, typ, uri string, body []byte) (extract.Text, error) {
					step("extract")
					return extract.Extract(ctx, typ, uri, body)
				}}
				report, err := Run(ctx, src, s, cfg, func(Progress) { step("after put") })
				if err != enough {
					t.Errorf("error %v, want the context's cause itself", err)
				}
				if report.Documents != len(s.entries) {
					t.Errorf("%d reported, %d stored", report.Documents, len(s.entries))
				}
				if len(report.Failed) > 0 {
					t.Errorf("documents that were not read are listed as failed: %v", report.Failed)
				}
				for i, e := range s.entries {
					if want := fmt.Sprintf("test:%d", i); e.Location.URI != want {
						t.Fatalf("entry %d is %s: a hole before it", i, e.Location.URI)
					}
				}
			})
		}
	}
}

func TestSourceErrorKeepsWhatWasEmitted(t *testing.T) {
	gone := errors.New("folder is gone")
	src := sourceFunc(func(_ context.Context, emit func(Raw) error) error {
		for i := range 30 {
			if err := emit(raw(fmt.Sprintf("test:%d", i), "text")); err != nil {
				return err
			}
		}
		return gone
	})
	s := &store{}
	report, err := Run(t.Context(), src, s, Config{}, nil)
	if !errors.Is(err, gone) || report.Documents != 30 || len(s.entries) != 30 {
		t.Errorf("%d reported, %d stored, %v", report.Documents, len(s.entries), err)
	}
}

func TestPanicOfASourceLeavesNothingRunning(t *testing.T) {
	src := sourceFunc(func(_ context.Context, emit func(Raw) error) error {
		if err := emit(raw("test:1", "text")); err != nil {
			return err
		}
		panic("source went wrong")
	})
	defer func() {
		if v := recover(); v != "source went wrong" {
			t.Errorf("recovered %v", v)
		}
	}()
	Run(t.Context(), src, &store{}, Config{}, nil)
}

func TestEmitAfterTheEndIsAnError(t *testing.T) {
	var late func(Raw) error
	src := sourceFunc(func(_ context.Context, emit func(Raw) error) error {
		late = emit
		return nil
	})
	if _, err := Run(t.Context(), src, &store{}, Config{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := late(raw("test:1", "text")); err == nil {
		t.Error("accepted")
	}
}

// A goroutine that a source forgot must not break the run's end.
func TestEmitDuringTheEndIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		result := make(chan error)
		src := sourceFunc(func(_ context.Context, emit func(Raw) error) error {
			go func() {
				<-release
				result <- emit(raw("test:2", "late"))
			}()
			return emit(raw("test:1", "text"))
		})
		s := &store{before: func(context.Context, []document.Entry) error {
			close(release) // the source has returned
			if err := <-result; err == nil {
				t.Error("accepted")
			}
			return nil
		}}
		if report, err := Run(t.Context(), src, s, Config{BatchWait: time.Hour}, nil); err != nil || report.Documents != 1 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

func TestSourceMayEmitFromSeveralGoroutines(t *testing.T) {
	src := sourceFunc(func(_ context.Context, emit func(Raw) error) error {
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 50 {
					if err := emit(raw(fmt.Sprintf("test:%d/%d", g, i), "text")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		return nil
	})
	s := &store{}
	if report, err := Run(t.Context(), src, s, Config{Queue: 4}, nil); err != nil || report.Documents != 400 || len(s.entries) != 400 {
		t.Errorf("%d stored, %+v, %v", len(s.entries), report, err)
	}
}

// outcomes answers with what it is given, in turn.
type outcomes []document.Outcome

func (o outcomes) Store(_ context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return o[:len(entries)], nil
}

func (o outcomes) Index(context.Context) error { return nil }

func TestReportCountsOutcomes(t *testing.T) {
	old := document.Root{1}
	o := outcomes{{New: true}, {Unchanged: true}, {New: true, Superseded: old}, {Superseded: old}, {}}
	var calls []Progress
	report, err := Run(t.Context(), numbered(5), o, Config{Batch: 5, BatchWait: 1 << 40}, func(p Progress) { calls = append(calls, p) })
	if err != nil {
		t.Fatal(err)
	}
	if report.Documents != 5 || report.New != 2 || report.Unchanged != 1 || report.Superseded != 2 || report.Chunks != 5 ||
		report.Bytes != int64(5*len("Document number 0.")) {
		t.Errorf("%+v", report)
	}
	if len(calls) != 1 || calls[0].URI != "test:4" || calls[0].Documents != 5 || calls[0].Superseded != 2 {
		t.Errorf("progress %+v", calls)
	}
}

func TestEntriesCarryWhatWasExtracted(t *testing.T) {
	given := raw("test:2", "# Own title\n\ntext")
	given.Location.Title, given.Location.ContentType = "Given title", "text/markdown"
	l := list{raws: []Raw{
		{Location: document.Location{URI: "test:1"}, Body: []byte("<html><title>A page</title><p>some text</p>")},
		given,
	}}
	s := &store{}
	if _, err := Run(t.Context(), l, s, Config{}, nil); err != nil {
		t.Fatal(err)
	}
	page, text := s.entries[0].Location, s.entries[1].Location
	if page.Title != "A page" || page.ContentType != "text/html" || page.Extractor != "html-article/3" || page.FetchedAt.IsZero() {
		t.Errorf("page: %+v", page)
	}
	if text.Title != "Given title" || text.ContentType != "text/markdown" || text.Extractor != "markdown/1" {
		t.Errorf("text: %+v", text)
	}
}
