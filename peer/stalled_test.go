package peer

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// halfway serves a node, but of each pack no more than some bytes, after which
// it waits until the client goes or the test ends.
func halfway(t *testing.T, n *node, most int) string {
	t.Helper()
	release := make(chan struct{})
	handler := n.peer.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/pack/") {
			w = &stalling{ResponseWriter: w, left: most, until: release, gone: r.Context().Done()}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { close(release); server.Close() })
	return server.URL
}

type stalling struct {
	http.ResponseWriter
	left  int
	until chan struct{}
	gone  <-chan struct{}
}

func (s *stalling) Write(b []byte) (int, error) {
	if len(b) <= s.left {
		s.left -= len(b)
		return s.ResponseWriter.Write(b)
	}
	if _, err := s.ResponseWriter.Write(b[:s.left]); err != nil {
		return 0, err
	}
	if err := http.NewResponseController(s.ResponseWriter).Flush(); err != nil {
		return 0, err
	}
	select {
	case <-s.until:
	case <-s.gone:
	}
	return 0, errors.New("the test has ended it")
}

// A line that stalls has brought less than a step of documents by then: they
// are durable while the sync still waits, so that a kill does not lose them.
func TestWhatASlowSourceBroughtIsDurableWhileTheSyncWaits(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 200, 500)...)
	from := halfway(t, a, 20<<10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work sync.WaitGroup
	ended := make(chan struct{})
	work.Go(func() {
		defer close(ended)
		if _, err := b.peer.Sync(ctx, from, a.origin("main"), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("the sync ended by %v", err)
		}
	})
	defer work.Wait()
	defer cancel()
	for b.documents() == 0 {
		select {
		case <-ended:
			t.Fatal("the sync ended before anything was durable")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestASyncThatIsCalledOffKeepsWhatHasCome(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 200, 500)...)
	from := halfway(t, a, 60<<10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	came := 0
	_, err := b.peer.Sync(ctx, from, a.origin("main"), func(p Progress) {
		if p.Documents >= reportEvery {
			came = p.Documents
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || came == 0 {
		t.Fatalf("the sync ended by %v, with %d documents", err, came)
	}
	if n := b.documents(); n < came {
		t.Errorf("%d documents had come, %d are kept", came, n)
	}
	res := b.sync(serveHTTP(t, a), a.origin("main"))
	if res.Resumed < came || res.Resumed+res.Verified != 200 {
		t.Errorf("after %d documents the next sync resumed %d and fetched %d", came, res.Resumed, res.Verified)
	}
}

func serveHTTP(t *testing.T, n *node) string {
	t.Helper()
	server := httptest.NewServer(n.peer.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

func TestASlowLineIsNotSharedByManyBundles(t *testing.T) {
	s := newSlots(2, 4)
	begun := 0
	begin := func() {
		for {
			select {
			case <-s.free:
				begun++
			default:
				return
			}
		}
	}
	leave := func(took time.Duration, want int) {
		t.Helper()
		s.leave(took)
		begun--
		if begin(); begun != want {
			t.Errorf("after a bundle that took %v, %d are fetched at a time, want %d", took, begun, want)
		}
	}
	if begin(); begun != 2 {
		t.Fatalf("two sources begin with %d bundles", begun)
	}
	leave(quickBundle, 2)
	leave(time.Hour, 2)
	leave(quickBundle-1, 3)
	leave(time.Hour, 3)
	leave(0, 4)
	leave(0, 4)
	leave(0, 4)
	if n := newSlots(0, 4); len(n.free) != 1 {
		t.Errorf("no source begins with %d bundles", len(n.free))
	}
	if n := newSlots(16, 4); len(n.free) != 4 {
		t.Errorf("16 sources begin with %d bundles", len(n.free))
	}
}
