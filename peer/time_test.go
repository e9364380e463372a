package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A pipes is a listener whose connections are in memory, so that time in a
// test can be that of a bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// inBubble serves a handler over pipes, with the server that streams have, and
// runs fn on fake time.
func inBubble(t *testing.T, handler http.HandlerFunc, fn func(t *testing.T, p *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		s := newServer(handler)
		go s.Serve(p)
		defer func() {
			s.Close()
			time.Sleep(time.Minute) // handlers that sleep end on the bubble's time
		}()
		fn(t, p)
	})
}

func sourceOver(p *pipes) *source {
	return &source{name: "source", base: "http://source" + PathPrefix, http: newHTTPClient(2, p.dial), zstd: true}
}

var anything = resource{kind: kindCorpora}

func TestSlowSourcesAreLeft(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply http.HandlerFunc
		after time.Duration
	}{
		{"no reply", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, replyTime},
		{"no end", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "begin")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, elementTime},
		{"a byte now and then", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, "x")
				http.NewResponseController(w).Flush()
				time.Sleep(5 * time.Second)
			}
		}, elementTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, c.reply, func(t *testing.T, p *pipes) {
				src := sourceOver(p)
				defer src.close()
				start := time.Now()
				_, err := src.get(t.Context(), anything, 1<<20)
				if !errors.Is(err, ErrTooSlow) {
					t.Errorf("error = %v, want ErrTooSlow", err)
				}
				if d := time.Since(start); d < c.after || d > c.after+time.Second {
					t.Errorf("gave up after %s, want %s", d, c.after)
				}
			})
		})
	}
}

func TestTheTimeOfADocumentGrowsWithItsSize(t *testing.T) {
	// 20 KiB/s is above the least rate, 10 KiB/s below.
	for rate, want := range map[int]error{20 << 10: nil, 10 << 10: ErrTooSlow} {
		const size = 4 << 20
		inBubble(t, func(w http.ResponseWriter, r *http.Request) {
			for range size / rate {
				if _, err := w.Write(make([]byte, rate)); err != nil {
					return
				}
				http.NewResponseController(w).Flush()
				time.Sleep(time.Second)
			}
		}, func(t *testing.T, p *pipes) {
			src := sourceOver(p)
			defer src.close()
			b, err := src.open(t.Context(), anything)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			b.allow(size)
			if _, err := readText(b, size/int64(rate)*int64(rate)); !errors.Is(err, want) {
				t.Errorf("%d bytes/s: %v, want %v", rate, err, want)
			}
		})
	}
}

func TestOurOwnPausesAreNotTheSourcesFault(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "all of it") }, func(t *testing.T, p *pipes) {
		src := sourceOver(p)
		defer src.close()
		b, err := src.open(t.Context(), anything)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		b.allow(0)
		b.pause()
		time.Sleep(10 * elementTime)
		b.allow(0)
		if got, err := io.ReadAll(b); err != nil || string(got) != "all of it" {
			t.Errorf("read %q, %v", got, err)
		}
	})
}

func TestBusySourcesAreAskedAgain(t *testing.T) {
	for _, c := range []struct {
		busy  int // times
		after string
		want  error
		took  time.Duration
	}{
		{2, "3", nil, 6 * time.Second},
		{1, "x", nil, time.Second},
		{1, "86400", nil, 10 * time.Second},
		{1, "-5", nil, 100 * time.Millisecond},
		{1000, "1", ErrBusy, (busyTries - 1) * time.Second},
	} {
		t.Run(fmt.Sprintf("%d times, after %s", c.busy, c.after), func(t *testing.T) {
			asked := 0
			inBubble(t, func(w http.ResponseWriter, r *http.Request) {
				if asked++; asked <= c.busy {
					w.Header().Set("Retry-After", c.after)
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				io.WriteString(w, "here")
			}, func(t *testing.T, p *pipes) {
				src := sourceOver(p)
				defer src.close()
				start := time.Now()
				_, err := src.get(t.Context(), anything, 100)
				if !errors.Is(err, c.want) {
					t.Errorf("error = %v, want %v", err, c.want)
				}
				if d := time.Since(start); d != c.took {
					t.Errorf("took %s, want %s", d, c.took)
				}
			})
		})
	}
}

func TestWaitingForABusySourceCanBeCancelled(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, func(t *testing.T, p *pipes) {
		src := sourceOver(p)
		defer src.close()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := src.get(ctx, anything, 100); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the context's", err)
		}
	})
}

// closedAfter reads from a connection until it is closed and says when.
func closedAfter(c net.Conn) time.Duration {
	start := time.Now()
	io.Copy(io.Discard, c)
	return time.Since(start)
}

func TestSilentStreamsAreClosed(t *testing.T) {
	for _, c := range []struct {
		name  string
		do    func(c net.Conn)
		after time.Duration
	}{
		{"nothing said", func(net.Conn) {}, headerTime},
		{"half a header", func(c net.Conn) { io.WriteString(c, "GET "+PathPrefix) }, headerTime},
		{"a byte a second", func(c net.Conn) {
			go func() {
				for _, b := range []byte("GET " + PathPrefix + "corpora HTTP/1.1\r\n") {
					if _, err := c.Write([]byte{b}); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			}()
		}, headerTime},
		{"idle after a request", func(c net.Conn) {
			io.WriteString(c, get("corpora"))
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err == nil {
				io.Copy(io.Discard, res.Body)
			}
		}, idleTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "x") }, func(t *testing.T, p *pipes) {
				conn, err := p.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				c.do(conn)
				if d := closedAfter(conn); d != c.after {
					t.Errorf("closed after %s, want %s", d, c.after)
				}
			})
		})
	}
}

func TestAReaderThatStopsLosesItsReply(t *testing.T) {
	var ended atomic.Pointer[time.Time]
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		out := newReply(r.Context(), w)
		defer out.watch()()
		out.head(typeBinary, -1, true)
		for {
			if _, err := out.Write(make([]byte, writeSize)); err != nil {
				now := time.Now()
				ended.Store(&now)
				panic(http.ErrAbortHandler)
			}
		}
	}, func(t *testing.T, p *pipes) {
		conn, err := p.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, get("corpora"))
		io.ReadFull(conn, make([]byte, 1<<20))
		stopped := time.Now()
		time.Sleep(2 * writeTime)
		if end := ended.Load(); end == nil || end.Sub(stopped) > writeTime {
			t.Errorf("the reply was kept until %v, want at most %s after %s", end, writeTime, stopped)
		}
	})
}

func TestGuestsAreForgottenWhenTheirBucketIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gs := newGuests(ServeConfig{})
		for i := range maxGuests {
			g := gs.enter(fmt.Sprint(i))
			if i%2 == 0 {
				gs.leave(g) // the others are still being served
			}
		}
		time.Sleep(guestMemory + time.Second)
		if gs.enter("new") == nil {
			t.Error("a new guest was refused although half of the old ones have left")
		}
		if n := len(gs.table); n != maxGuests/2+1 {
			t.Errorf("%d guests are known, want %d", n, maxGuests/2+1)
		}
	})
}

func TestABudgetLetsTheHeadOnAndBoundsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBudget(ctx, 7)
		if ok, err := b.reserve(8, fetchMemory); !ok || err != nil {
			t.Fatalf("reserve for the next bundle = %v, %v", ok, err)
		}
		var second bool
		go func() { second, _ = b.reserve(9, 1) }()
		// The head needs nothing of what the others hold: a document of any
		// size, and then what fits.
		if err := b.hold(7, 2*fetchMemory); err != nil {
			t.Fatal(err)
		}
		held := false
		go func() {
			b.hold(7, 1)
			held = true
		}()
		synctest.Wait()
		if second || held {
			t.Errorf("more was given than there is: bundle %v, document %v", second, held)
		}
		b.release(7, 2*fetchMemory)
		synctest.Wait()
		if !held || second {
			t.Errorf("after the head gave back: document %v, bundle %v, want true, false", held, second)
		}
		b.release(7, 1)
		b.release(8, fetchMemory)
		synctest.Wait()
		if !second {
			t.Error("after the next bundle gave back, the one behind it still waits")
		}
		// A bundle too large for the rest waits until it is the head.
		var reserved, done bool
		go func() { reserved, _ = b.reserve(10, 3*fetchMemory); done = true }()
		for range 3 {
			synctest.Wait()
			if done {
				t.Error("a bundle larger than all there is did not wait for its turn")
			}
			b.advance()
		}
		synctest.Wait()
		if !done || reserved {
			t.Errorf("as the head: done %v, reserved %v, want true, false", done, reserved)
		}
		cancel()
		synctest.Wait()
		if err := b.hold(10, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("hold after the end = %v", err)
		}
	})
}

func TestSmallResourcesEndAtTheirLimit(t *testing.T) {
	for size, want := range map[int]error{0: nil, 99: nil, 100: nil, 101: ErrTooLarge, 64 << 20: ErrTooLarge} {
		var sent atomic.Int64
		serve := func(w http.ResponseWriter, r *http.Request) {
			for part := make([]byte, 32<<10); sent.Load() < int64(size); {
				n, err := w.Write(part[:min(int64(len(part)), int64(size)-sent.Load())])
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		}
		inBubble(t, serve, func(t *testing.T, p *pipes) {
			src := sourceOver(p)
			defer src.close()
			got, err := src.get(t.Context(), anything, 100)
			if !errors.Is(err, want) || want == nil && len(got) != size {
				t.Errorf("%d bytes with a limit of 100: %d bytes, %v, want %v", size, len(got), err, want)
			}
		})
		if n := sent.Load(); n > 1<<20 { // what is on its way counts, too
			t.Errorf("of %d bytes with a limit of 100, %d were taken", size, n)
		}
	}
}
