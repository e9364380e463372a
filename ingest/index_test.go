package ingest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arborist/document"
)

// An indexed sink counts what is stored and not indexed.
type indexed struct {
	discard
	mu                       sync.Mutex // of what follows
	waiting, most, indexings int
	err                      error // of Index
}

func (s *indexed) Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting += len(entries)
	s.most = max(s.most, s.waiting)
	return s.discard.Store(ctx, entries)
}

func (s *indexed) Index(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.waiting = 0
		s.indexings++
	}
	return s.err
}

func (s *indexed) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

func TestRunIndexesAllThatItStored(t *testing.T) {
	size := int64(len("Document number 0."))
	for name, c := range map[string]struct {
		cfg        Config
		most, runs int // documents waiting, calls of Index
	}{
		"nothing is due before the end": {Config{Batch: 2}, 9, 1},
		"so many bytes":                 {Config{Batch: 2, IndexBytes: 4 * size}, 4, 3},
		"all at once":                   {Config{IndexBytes: 1}, 9, 1},
		"each by itself":                {Config{Batch: 1, IndexBytes: 1}, 1, 9},
	} {
		t.Run(name, func(t *testing.T) {
			s := &indexed{}
			c.cfg.BatchWait, c.cfg.IndexWait = time.Hour, time.Hour
			if _, err := Run(t.Context(), numbered(9), s, c.cfg, nil); err != nil {
				t.Fatal(err)
			}
			if s.waiting != 0 || s.most != c.most || s.indexings != c.runs {
				t.Errorf("%d wait, at most %d did, %d times indexed; want 0, %d, %d", s.waiting, s.most, s.indexings, c.most, c.runs)
			}
		})
	}
}

func TestAStoredDocumentWaitsForItsIndexNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &indexed{}
		var late []int
		src := sourceFunc(func(_ context.Context, emit func(Raw) error) error {
			for i := range 3 {
				if err := emit(raw([]string{"test:a", "test:b", "test:c"}[i], "text")); err != nil {
					return err
				}
				// It is stored after a second, and indexed five seconds after the first.
				time.Sleep(2400 * time.Millisecond)
				synctest.Wait()
				late = append(late, s.left())
			}
			time.Sleep(time.Hour)
			late = append(late, s.left())
			return nil
		})
		if _, err := Run(t.Context(), src, s, Config{BatchWait: time.Second, IndexWait: 5 * time.Second}, nil); err != nil {
			t.Fatal(err)
		}
		if want := [4]int{1, 2, 0, 0}; [4]int(late) != want || s.indexings != 1 {
			t.Errorf("%v wait, %d times indexed; want %v, 1", late, s.indexings, want)
		}
	})
}

func TestARunWhoseIndexFailsEnds(t *testing.T) {
	s := &indexed{err: errors.New("disk full")}
	report, err := Run(t.Context(), numbered(9), s, Config{Batch: 3}, nil)
	if !errors.Is(err, s.err) || report.Documents != 9 {
		t.Errorf("%d documents, %v", report.Documents, err)
	}
}

func TestAStoppedRunIsNotHeldUpByItsIndex(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &indexed{discard: discard{put: cancel}}
	if _, err := Run(ctx, numbered(9), s, Config{Batch: 3, Queue: 1}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if s.indexings != 0 {
		t.Error("it was indexed all the same")
	}
}
