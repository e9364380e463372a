package peer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/ipfs/go-cid"
	mh "github.com/multiformats/go-multihash"

	"arborist/merkle"
)

const (
	gatewayPrefix = "/ipfs/"
	typeRaw       = "application/vnd.ipld.raw"
	// maxInline is the longest identity CID that is answered: IPFS has no longer ones.
	maxInline = 128
	// maxGatewayCID is more than any CID of ours takes in any base.
	maxGatewayCID = 512
)

var (
	errCID        = refusal{http.StatusBadRequest, "not a CID, or more than /ipfs/CID\n"}
	errUnsaid     = refusal{http.StatusBadRequest, "ask for ?format=raw or accept " + typeRaw + "\n"}
	errFormat     = refusal{http.StatusNotAcceptable, "raw blocks are served, and nothing else\n"}
	errGetOrHead  = refusal{http.StatusMethodNotAllowed, "GET or HEAD\n"}
	gatewayMethod = http.MethodGet + ", " + http.MethodHead
)

// A gateway is the part of IPFS's trustless gateway that serves raw blocks: the
// leaves and tree nodes of documents that served corpora list. Everything else goes
// to the handler of the resources, whose limits hold for both.
type gateway struct {
	*handler
	blocks *blocks
}

func newGateway(h *handler) *gateway { return &gateway{h, &blocks{shared: h.shared}} }

// ServeHTTP implements [http.Handler].
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := strings.CutPrefix(r.URL.Path, gatewayPrefix)
	if !ok {
		g.handler.ServeHTTP(w, r)
		return
	}
	g.answer(w, r, func(out *reply, who *guest) (string, error) {
		return gatewayPrefix + text, g.serveBlock(out, r, text, who)
	})
}

func (g *gateway) serveBlock(out *reply, r *http.Request, text string, who *guest) error {
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		return errBody
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		out.w.Header().Set("Allow", gatewayMethod)
		return errGetOrHead
	}
	c, err := parseGatewayCID(text)
	if err != nil {
		return err
	}
	if err := wantsRaw(r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), lookupTime)
	defer cancel()
	block, err := g.blockOf(ctx, c, who)
	if err != nil {
		return err
	}
	header := out.w.Header()
	etag := fmt.Sprintf("%q", text+".raw")
	header.Set("Content-Type", typeRaw)
	header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", text+".bin"))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", immutableCache)
	header.Set("Vary", "Accept")
	header.Set("Etag", etag)
	header.Set("X-Ipfs-Path", gatewayPrefix+text)
	header.Set("X-Ipfs-Roots", text)
	out.started = true
	if matches(r.Header.Values("If-None-Match"), etag) {
		out.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Length", strconv.Itoa(len(block)))
	out.w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	_, err = io.Copy(out, bytes.NewReader(block))
	return err
}

// parseGatewayCID parses what stands behind /ipfs/: a CID in any base, and no path
// within it, which raw blocks have not.
func parseGatewayCID(text string) (cid.Cid, error) {
	c, err := cid.Decode(text)
	if err != nil || len(text) > maxGatewayCID || strings.Contains(text, "/") {
		return cid.Undef, errCID
	}
	return c, nil
}

// blockOf returns the block that a CID names.
func (g *gateway) blockOf(ctx context.Context, c cid.Cid, who *guest) ([]byte, error) {
	hash, err := mh.Decode(c.Hash())
	switch {
	case err != nil:
		return nil, errCID
	case hash.Code == mh.IDENTITY && len(hash.Digest) <= maxInline:
		return hash.Digest, nil // it names itself; clients look for gateways so
	case c.Type() != cid.Raw || hash.Code != mh.SHA2_256 || len(hash.Digest) != merkle.HashSize:
		return nil, errNothing
	}
	return g.blocks.block(ctx, merkle.Hash(hash.Digest), blockWork{
		turn:   func(ctx context.Context) (func(), error) { return g.turns.take(ctx, who) },
		hashed: func(leaves int) { who.charge(leaves / workLeaves) },
	})
}

// wantsRaw reports whether a request asks for a raw block, and refuses what asks for
// something else, or does not say. The parameter goes before the header.
func wantsRaw(r *http.Request) error {
	if formats, ok := r.URL.Query()["format"]; ok {
		if len(formats) == 1 && formats[0] == "raw" {
			return nil
		}
		return errFormat
	}
	named := false
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, _ := strings.Cut(part, ";")
			kind = strings.ToLower(strings.TrimSpace(kind))
			if kind == typeRaw && !refused(params) {
				return nil
			}
			named = named || kind != "" && !strings.HasSuffix(kind, "/*")
		}
	}
	if named {
		return errFormat
	}
	return errUnsaid
}

// matches reports whether an If-None-Match names a tag, or any.
func matches(lines []string, etag string) bool {
	for _, line := range lines {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == etag || tag == "*" {
				return true
			}
		}
	}
	return false
}
