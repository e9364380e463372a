package peer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"arborist/shard"
	"arborist/shard/corpus"
)

// Handler returns the handler of the resources of every corpus in shared, the
// same that a [Peer] serves over streams. Nothing but what a corpus's signed
// log lists can be asked for, and the replies to all other questions are the
// same, byte for byte. A corpus is served from the time that its key statement
// is stored: see [Certify].
func Handler(shared *shard.Shared, cfg ServeConfig) (http.Handler, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return newHandler(shared, nil, cfg, slog.New(slog.DiscardHandler)), nil
}

type handler struct {
	shared *shard.Shared
	id     *identity // nil: certifies nothing
	guests *guests
	log    *slog.Logger
	coders coders
}

func newHandler(shared *shard.Shared, id *identity, cfg ServeConfig, log *slog.Logger) *handler {
	return &handler{shared: shared, id: id, guests: newGuests(cfg), log: log}
}

// A refusal is a status with its fixed body. These are all that there are.
type refusal struct {
	status int
	body   string
}

func (e refusal) Error() string { return strings.TrimSpace(e.body) }

var (
	errNothing  = refusal{http.StatusNotFound, "not found\n"}
	errMethod   = refusal{http.StatusMethodNotAllowed, "method not allowed\n"}
	errBody     = refusal{http.StatusRequestEntityTooLarge, "no body allowed\n"}
	errTooMany  = refusal{http.StatusTooManyRequests, "too many requests\n"}
	errBusy     = refusal{http.StatusServiceUnavailable, "busy\n"}
	errInternal = refusal{http.StatusInternalServerError, "internal error\n"}
)

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The clock would be the only thing in a reply that differs between two
	// nodes with the same corpora.
	w.Header()["Date"] = nil
	out := newReply(r.Context(), w)
	defer out.watch()()
	g := h.guests.enter(guestKey(r.RemoteAddr))
	if g == nil {
		out.refuse(errTooMany)
		return
	}
	defer h.guests.leave(g)
	res, err := parseRequest(r)
	if err == nil {
		err = h.serve(r, out, res, g)
	}
	switch {
	case err == nil:
		return
	case out.started || r.Context().Err() != nil:
		// Too late for a status: break the stream, so that nobody takes what
		// was sent for the whole.
		panic(http.ErrAbortHandler)
	}
	h.explain(out, g, res, err)
}

// explain refuses a request that nothing has been sent for.
func (h *handler) explain(out *reply, g *guest, res resource, err error) {
	var no refusal
	switch {
	case errors.As(err, &no):
	case errors.Is(err, corpus.ErrNotFound), errors.Is(err, shard.ErrNotFound):
		no = errNothing
	case errors.Is(err, context.DeadlineExceeded):
		no = errBusy
	default:
		h.log.Error("cannot serve a resource", "resource", res.path(), "error", err)
		no = errInternal
	}
	if no.status == http.StatusNotFound {
		g.missed()
	}
	out.refuse(no)
}

// parseRequest returns the resource that a request names.
func parseRequest(r *http.Request) (resource, error) {
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		return resource{}, errBody
	}
	if r.Method != http.MethodGet {
		return resource{}, errMethod
	}
	// A path with escapes is a second spelling of another path.
	path, ok := strings.CutPrefix(r.URL.Path, PathPrefix)
	if !ok || r.URL.RawPath != "" || r.URL.RawQuery != "" || r.URL.ForceQuery || len(path) > maxPath {
		return resource{}, errNothing
	}
	res, ok := parseResource(path)
	if !ok {
		return resource{}, errNothing
	}
	return res, nil
}

// serve answers a well-formed request. All of its store work ends with the
// request or after lookupTime.
func (h *handler) serve(r *http.Request, out *reply, res resource, g *guest) error {
	ctx, cancel := context.WithTimeout(r.Context(), lookupTime)
	defer cancel()
	switch res.kind {
	case kindCorpora:
		return h.serveCorpora(ctx, out)
	case kindKey:
		return h.serveKey(ctx, out, res)
	case kindCheckpoint:
		return h.serveCheckpoint(ctx, out, res)
	case kindTile:
		return h.serveTile(ctx, out, res)
	case kindEntries:
		return h.serveEntries(ctx, out, res, acceptsZstd(r))
	case kindPack:
		// As long as it makes progress: each document has its own time.
		return h.servePack(r.Context(), out, res, g, acceptsZstd(r))
	case kindDoc:
		return h.serveDoc(ctx, out, res, g, acceptsZstd(r))
	default:
		return h.serveProof(ctx, out, res)
	}
}

// guestKey returns who is asking: a peer ID where the connection is a stream,
// a network address otherwise. An IPv6 host owns its /64.
func guestKey(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return remote
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	prefix, _ := ip.Prefix(64)
	return prefix.String()
}

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

const (
	typeText   = "text/plain; charset=utf-8"
	typeJSON   = "application/json"
	typeBinary = "application/octet-stream"
)
