package peer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"
)

// immutableCache is the Cache-Control of what never changes.
const immutableCache = "public, max-age=31536000, immutable"

// A reply is what goes back to one request: it gives each part that is written
// its own time and fixes every header.
type reply struct {
	ctx     context.Context
	w       http.ResponseWriter
	control *http.ResponseController
	started bool // the status is out

	r      *http.Request
	window window // of the resource, that is sent; zero: all of it
	total  int64  // bytes of the resource, where there is a window
	at     int64  // bytes of the resource that were written or skipped

	limit *rate.Limiter // of the bytes to all peers, nil: none
	turn  func()        // ends the turn that the work for it has, nil: it has none
}

func newReply(ctx context.Context, w http.ResponseWriter) *reply {
	out := &reply{ctx: ctx, w: w, control: http.NewResponseController(w)}
	out.extend()
	return out
}

// endTurn ends the turn of a reply: the rest of it is sending, or waits.
func (out *reply) endTurn() {
	if out.turn != nil {
		out.turn()
		out.turn = nil
	}
}

// extend gives the next part of the reply its time. A deadline that an earlier
// request left on the stream is gone with it.
func (out *reply) extend() {
	// Writers without deadlines are those of tests.
	_ = out.control.SetWriteDeadline(time.Now().Add(lookupTime + writeTime))
}

// watch ends a write that waits for a peer that has gone: one that closed its
// stream without resetting it reads no more and does not say so.
func (out *reply) watch() (stop func() bool) {
	return context.AfterFunc(out.ctx, func() { _ = out.control.SetWriteDeadline(time.Now()) })
}

// head sends the status of a resource. A size below 0 is not known.
func (out *reply) head(contentType string, size int64, immutable bool) {
	out.endTurn()
	header := out.w.Header()
	header.Set("Content-Type", contentType)
	if immutable {
		header.Set("Cache-Control", immutableCache)
		if header.Get("Content-Encoding") == "" {
			header.Set("Accept-Ranges", "bytes")
		}
	} else {
		header.Set("Cache-Control", "no-cache")
	}
	if size >= 0 {
		header.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	out.started = true
	if w := out.window; w.n > 0 {
		header.Set("Content-Length", strconv.FormatInt(w.n, 10))
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", w.from, w.from+w.n-1, out.total))
		out.w.WriteHeader(http.StatusPartialContent)
		return
	}
	out.w.WriteHeader(http.StatusOK)
}

// Write sends what is in the window of p in parts that each have writeTime to
// go out, and waits where all peers together get more than they may.
func (out *reply) Write(p []byte) (written int, err error) {
	whole := len(p)
	if err := out.send(out.inside(p)); err != nil {
		return 0, err
	}
	return whole, nil
}

func (out *reply) send(p []byte) error {
	most := writeSize
	if out.limit != nil {
		most = out.limit.Burst()
	}
	for len(p) > 0 {
		part := p[:min(len(p), most)]
		if out.limit != nil {
			if err := out.limit.WaitN(out.ctx, len(part)); err != nil {
				return err
			}
		}
		_ = out.control.SetWriteDeadline(time.Now().Add(writeTime))
		// Asked after the deadline is set, which must not undo what watch did.
		if err := out.ctx.Err(); err != nil {
			return err
		}
		n, err := out.w.Write(part)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// whole sends a small resource.
func (out *reply) whole(contentType string, content []byte, immutable bool) error {
	if immutable {
		if err := out.cut(int64(len(content))); err != nil {
			return err
		}
	}
	out.head(contentType, int64(len(content)), immutable)
	_, err := out.Write(content)
	return err
}

// refuse sends a refusal: the same bytes whatever was asked for.
func (out *reply) refuse(no refusal) {
	out.endTurn()
	header := out.w.Header()
	header.Set("Content-Type", typeText)
	header.Set("Content-Length", strconv.Itoa(len(no.body)))
	switch no.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		header.Set("Retry-After", "1")
	case http.StatusMethodNotAllowed:
		if header.Get("Allow") == "" {
			header.Set("Allow", http.MethodGet)
		}
	case http.StatusRequestEntityTooLarge:
		// Whoever sends a body may send it slowly: do not wait for its end.
		header.Set("Connection", "close")
		_ = out.control.SetReadDeadline(time.Now())
	}
	out.w.WriteHeader(no.status)
	io.WriteString(out.w, no.body)
}
