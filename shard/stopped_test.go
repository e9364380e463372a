package shard

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"arborist/document"
)

// A stopping is a context that ends when it is looked at for the n-th time.
type stopping struct {
	context.Context
	stop context.CancelFunc
	left atomic.Int64
}

func newStopping(ctx context.Context, n int) *stopping {
	ctx, stop := context.WithCancel(ctx)
	s := &stopping{Context: ctx, stop: stop}
	s.left.Store(int64(n))
	return s
}

func (s *stopping) look() {
	if s.left.Add(-1) == 0 {
		s.stop()
	}
}

func (s *stopping) Err() error            { s.look(); return s.Context.Err() }
func (s *stopping) Done() <-chan struct{} { s.look(); return s.Context.Done() }

// Ctrl-C in an add is no crash: its log lists whatever its shards hold.
func TestAPublishThatIsStoppedAnywhereListsWhatItStored(t *testing.T) {
	s := newShared(t, 4)
	p := newPublisher(t, s)
	acknowledged, stopped := 0, 0
	for n := 1; ; n++ {
		var entries []document.Entry
		for i := range 8 {
			entries = append(entries, entry(t, fmt.Sprintf("test:%d-%d", n, i), fmt.Sprintf("text %d of round %d", i, n)))
		}
		ctx := newStopping(t.Context(), n)
		_, err := p.Store(ctx, entries)
		ended := ctx.Context.Err() == nil
		ctx.stop()
		if err == nil {
			acknowledged += len(entries)
		} else {
			stopped++
		}
		stats, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info, _ := logOf(t, s); int(info.Size) != int(stats.Documents) || int(info.Size) != acknowledged {
			t.Errorf("stopped at look %d: %d documents stored, %d listed, %d acknowledged", n, stats.Documents, info.Size, acknowledged)
		}
		if ended { // before anybody looked so often
			break
		}
	}
	if stopped == 0 {
		t.Error("no call was stopped")
	}
}
