package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"arborist/document"
)

// Handler serves a [Service] as HTTP+JSON: POST /v1/<call> with a request
// object. Short calls answer one result object, or status 4xx or 5xx with
// {"error":…}. Long calls answer server-sent events: progress, then one result
// or error. It does no authentication: whoever can reach it is the owner, so
// it belongs behind a unix socket of mode 0600.
func Handler(s Service) http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, h http.HandlerFunc) { mux.Handle("POST /"+Revision+path, h) }

	handle(pathAdd, long(s.Add))
	handle(pathCrawl, long(s.Crawl))
	handle(pathRecheck, long(s.Recheck))
	handle(pathPeerSync, long(s.Sync))
	handle(pathFetch, short(s.Fetch))
	handle(pathProveRemote, short(s.ProveRemote))
	handle(pathPeerUnsync, long(s.Unsync))
	handle(pathPublish, long(s.Publish))
	handle(pathQuery, short(s.Query))
	handle(pathProve, short(s.Prove))
	handle(pathText, short(func(ctx context.Context, r nameRequest) (textResult, error) {
		root, err := document.ParseRoot(r.Name)
		if err != nil {
			return textResult{}, NewError(CodeUsage, err, "")
		}
		text, err := s.Text(ctx, root)
		return textResult{text}, err
	}))
	handle(pathShow, short(named(s.Show)))
	handle(pathHistory, short(named(s.History)))
	handle(pathCorpusAt, short(s.CorpusAt))
	handle(pathCorpusNew, short(named(s.CreateCorpus)))
	handle(pathWithdraw, short(s.Withdraw))
	handle(pathCorpusKey, short(named(s.CorpusKey)))
	handle(pathRotate, short(named(s.RotateCorpus)))
	handle(pathRetire, short(named(s.RetireCorpusKey)))
	handle(pathConfirm, short(named(s.ConfirmCorpus)))
	handle(pathRotations, short(named(s.CorpusRotations)))
	handle(pathPeerJoin, short(named(s.Join)))
	handle(pathPeerCorpora, short(named(s.PeerCorpora)))
	handle(pathCorpora, short(plain(s.ListCorpora)))
	handle(pathWitness, short(s.WitnessCorpus))
	handle(pathWitnessKey, short(plain(s.WitnessKey)))
	handle(pathPeerKnown, short(plain(s.KnownPeers)))
	handle(pathPeerLeave, short(named(s.LeavePeer)))
	handle(pathPeerFind, short(named(s.FindCorpus)))
	handle(pathPeerFollow, short(s.FollowCorpus))
	handle(pathPeerLists, short(s.PeerLists))
	handle(pathNetworkKey, short(s.NetworkKey))
	handle(pathPeerID, short(plain(s.PeerID)))
	handle(pathPeerList, short(plain(s.ListPeers)))
	handle(pathAttach, short(named(s.Attach)))
	handle(pathDetach, short(named(s.Detach)))
	handle(pathExport, long(s.Export))
	handle(pathCrawlReport, long(s.CrawlReport))
	handle(pathCrawlSites, long(s.CrawlSites))
	handle(pathCountSites, short(s.CountSites))
	handle(pathImport, long(s.Import))
	handle(pathStatus, short(plain(s.Status)))
	handle(pathCheck, short(plain(s.Check)))
	handle(pathCheckWith, short(s.CheckWith))
	handle(pathBackup, long(s.Backup))
	handle(pathCompact, long(s.Compact))
	handle(pathSplit, long(s.SplitShards))
	return mux
}

func named[Res any](call func(context.Context, string) (Res, error)) func(context.Context, nameRequest) (Res, error) {
	return func(ctx context.Context, r nameRequest) (Res, error) { return call(ctx, r.Name) }
}

func plain[Res any](call func(context.Context) (Res, error)) func(context.Context, empty) (Res, error) {
	return func(ctx context.Context, _ empty) (Res, error) { return call(ctx) }
}

func short[Req, Res any](call func(context.Context, Req) (Res, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req, err := decode[Req](w, r)
		if err != nil {
			fail(w, err)
			return
		}
		res, err := call(r.Context(), req)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(res) // a client that is gone needs no answer
	}
}

func long[Req, Res any](call func(context.Context, Req, ProgressFunc) (Res, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req, err := decode[Req](w, r)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		flush := http.NewResponseController(w)
		send := func(m message[Res]) {
			b, err := json.Marshal(m)
			if err != nil {
				return
			}
			fmt.Fprintf(w, "data: %s\n\n", b)
			flush.Flush()
		}
		res, err := call(r.Context(), req, func(p Progress) { send(message[Res]{Progress: &p}) })
		// A long call's result stands beside its error: what was done before
		// the error is done, and the caller must be able to say so.
		m := message[Res]{Result: &res}
		if err != nil {
			m.Error = AsError(err)
		}
		send(m)
	}
}

func decode[Req any](w http.ResponseWriter, r *http.Request) (req Req, err error) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	d.DisallowUnknownFields()
	if err := d.Decode(&req); err != nil {
		return req, NewError(CodeUsage, fmt.Errorf("read request %s: %w", r.URL.Path, err), "client and daemon may be of different versions: restart the daemon")
	}
	return req, nil
}

func fail(w http.ResponseWriter, err error) {
	e := AsError(err)
	status := http.StatusInternalServerError
	switch e.Code {
	case CodeUsage:
		status = http.StatusBadRequest
	case CodeNotFound:
		status = http.StatusNotFound
	case CodeDenied:
		status = http.StatusForbidden
	}
	if errors.Is(err, context.Canceled) {
		status = 499 // as nginx has it: the client closed the request
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]*Error{"error": e})
}
