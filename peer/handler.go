package peer

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"golang.org/x/time/rate"

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
	turns  *turns
	log    *slog.Logger
	coders coders
	desk   *searchDesk   // nil: answers no queries
	upload *rate.Limiter // of bytes to all peers, nil: none
}

func newHandler(shared *shard.Shared, id *identity, cfg ServeConfig, log *slog.Logger) *handler {
	return &handler{shared: shared, id: id, guests: newGuests(cfg), turns: newTurns(), log: log, desk: newSearchDesk(cfg), upload: newLimit(cfg.MaxUpload)}
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
	errRange    = refusal{http.StatusRequestedRangeNotSatisfiable, "no such range\n"}
	errBody     = refusal{http.StatusRequestEntityTooLarge, "no body allowed\n"}
	errTooMany  = refusal{http.StatusTooManyRequests, "too many requests\n"}
	errBusy     = refusal{http.StatusServiceUnavailable, "busy\n"}
	errInternal = refusal{http.StatusInternalServerError, "internal error\n"}
)

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.answer(w, r, func(out *reply, g *guest) (string, error) {
		res, err := parseRequest(r)
		if err == nil {
			err = h.serve(r, out, res, g)
		}
		if err == nil {
			return "", nil
		}
		return res.path(), err
	})
}

// answer admits a guest, has serve answer, which names what it fails at, and
// refuses that.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, serve func(*reply, *guest) (name string, err error)) {
	// The clock would be the only thing in a reply that differs between two
	// nodes with the same corpora.
	w.Header()["Date"] = nil
	out := newReply(r.Context(), w)
	out.r, out.limit = r, h.upload
	defer out.watch()()
	g := h.guests.enter(guestKey(r.RemoteAddr))
	if g == nil {
		out.refuse(errTooMany)
		return
	}
	defer h.guests.leave(g)
	defer out.endTurn()
	name, err := serve(out, g)
	switch {
	case err == nil:
		return
	case out.started || r.Context().Err() != nil:
		// Too late for a status: break the stream, so that nobody takes what
		// was sent for the whole.
		panic(http.ErrAbortHandler)
	}
	h.explain(out, g, name, err)
}

// explain refuses a request that nothing has been sent for.
func (h *handler) explain(out *reply, g *guest, name string, err error) {
	var no refusal
	switch {
	case errors.As(err, &no):
	case errors.Is(err, corpus.ErrNotFound), errors.Is(err, shard.ErrNotFound):
		no = errNothing
	case errors.Is(err, context.DeadlineExceeded):
		no = errBusy
	default:
		h.log.Error("cannot serve a resource", "resource", name, "error", err)
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
	if res.kind != kindSearch { // for which there is a line of its own
		var err error
		if out.turn, err = h.turns.take(ctx, g); err != nil {
			return err
		}
	}
	switch res.kind {
	case kindCorpora:
		return h.serveCorpora(ctx, out)
	case kindKey:
		return h.serveKey(ctx, out, res)
	case kindCheckpoint:
		return h.serveCheckpoint(ctx, out, res)
	case kindRotations:
		return h.serveRotations(ctx, out, res)
	case kindFilter:
		return h.serveFilter(ctx, out, res)
	case kindFuse:
		return h.serveFuse(ctx, out, res, g)
	case kindTile:
		return h.serveTile(ctx, out, res)
	case kindEntries:
		return h.serveEntries(ctx, out, res, acceptsZstd(r))
	case kindPack:
		// As long as it makes progress: each document has its own time.
		return h.servePack(r.Context(), out, res, g, acceptsZstd(r))
	case kindDoc:
		return h.serveDoc(ctx, out, res, g, acceptsZstd(r))
	case kindDelta:
		return h.serveDelta(ctx, out, res, g, acceptsZstd(r))
	case kindSearch:
		return h.serveSearch(ctx, out, res, g)
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

const (
	typeText   = "text/plain; charset=utf-8"
	typeJSON   = "application/json"
	typeBinary = "application/octet-stream"
)
