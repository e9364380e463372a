package peer

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// A reply is what goes back to one request: it gives each part that is written
// its own time and fixes every header.
type reply struct {
	ctx     context.Context
	w       http.ResponseWriter
	control *http.ResponseController
	started bool // the status is out
}

func newReply(ctx context.Context, w http.ResponseWriter) *reply {
	out := &reply{ctx: ctx, w: w, control: http.NewResponseController(w)}
	out.extend()
	return out
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
	header := out.w.Header()
	header.Set("Content-Type", contentType)
	if immutable {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		header.Set("Cache-Control", "no-cache")
	}
	if size >= 0 {
		header.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	out.started = true
	out.w.WriteHeader(http.StatusOK)
}

// Write sends p in parts that each have writeTime to go out.
func (out *reply) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		_ = out.control.SetWriteDeadline(time.Now().Add(writeTime))
		// Asked after the deadline is set, which must not undo what watch did.
		if err := out.ctx.Err(); err != nil {
			return written, err
		}
		n, err := out.w.Write(p[:min(len(p), writeSize)])
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// whole sends a small resource.
func (out *reply) whole(contentType string, content []byte, immutable bool) error {
	out.head(contentType, int64(len(content)), immutable)
	_, err := out.Write(content)
	return err
}

// refuse sends a refusal: the same bytes whatever was asked for.
func (out *reply) refuse(no refusal) {
	header := out.w.Header()
	header.Set("Content-Type", typeText)
	header.Set("Content-Length", strconv.Itoa(len(no.body)))
	switch no.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		header.Set("Retry-After", "1")
	case http.StatusMethodNotAllowed:
		header.Set("Allow", http.MethodGet)
	case http.StatusRequestEntityTooLarge:
		// Whoever sends a body may send it slowly: do not wait for its end.
		header.Set("Connection", "close")
		_ = out.control.SetReadDeadline(time.Now())
	}
	out.w.WriteHeader(no.status)
	io.WriteString(out.w, no.body)
}
