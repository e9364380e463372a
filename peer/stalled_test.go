package peer

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
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

// rationed serves a node, but of documents only some bytes until more are given;
// then it tells out and waits until the client goes.
type rationed struct {
	handler http.Handler
	left    atomic.Int64
	out     chan struct{}
}

func (r *rationed) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.Contains(req.URL.Path, "/pack/") || strings.Contains(req.URL.Path, "/doc/") {
		w = &rationedReply{w, r, req.Context().Done()}
	}
	r.handler.ServeHTTP(w, req)
}

type rationedReply struct {
	http.ResponseWriter
	from *rationed
	gone <-chan struct{}
}

func (r *rationedReply) Write(b []byte) (int, error) {
	if left := r.from.left.Add(-int64(len(b))); left < 0 {
		r.ResponseWriter.Write(b[:max(0, int64(len(b))+left)])
		http.NewResponseController(r.ResponseWriter).Flush()
		select {
		case r.from.out <- struct{}{}:
		default:
		}
		<-r.gone
		return 0, errors.New("there is no more")
	}
	return r.ResponseWriter.Write(b)
}

func TestALineThatBreaksOffAgainAndAgainBringsAllInTheEnd(t *testing.T) {
	const n = 200
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", n, 3000)...)
	source := &rationed{handler: a.peer.Handler(), out: make(chan struct{}, 1)}
	server := httptest.NewServer(source)
	defer server.Close()
	before := 0
	for run := 1; before < n; run++ {
		source.left.Store(40 << 10)
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		done := make(chan struct{})
		work.Go(func() {
			defer close(done)
			b.peer.Sync(ctx, server.URL, a.origin("main"), nil)
		})
		select {
		case <-source.out:
		case <-done:
		}
		for running := true; running && b.documents() <= before; { // what was sent comes, or nothing of it is of use
			select {
			case <-done:
				running = false
			case <-time.After(20 * time.Millisecond):
			}
		}
		cancel()
		work.Wait()
		now := b.documents()
		if now <= before {
			t.Fatalf("run %d brought nothing behind %d documents", run, before)
		}
		before = now
	}
	source.left.Store(1 << 30)
	if res := b.sync(server.URL, a.origin("main")); res.Verified != 0 {
		t.Errorf("%d documents were fetched again", res.Verified)
	}
	sameLog(t, a, b, "main")
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
