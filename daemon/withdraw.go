package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/proof"
	"arborist/shard"
)

// Withdraw implements [api.Corpora].
func (n *Node) Withdraw(ctx context.Context, req api.WithdrawRequest) (res api.WithdrawResult, err error) {
	info, err := n.lookupCorpus(ctx, req.Corpus)
	if err != nil {
		return res, err
	}
	if !info.Own {
		return res, api.NewError(api.CodeDenied, fmt.Errorf("withdraw from corpus %s: %s publishes it", req.Corpus, info.Publisher),
			"only its publisher can withdraw from it; see your own corpora: arborist corpus list")
	}
	var uris []string
	for _, what := range req.What {
		found, err := n.listedAt(ctx, info.Origin, what)
		if err != nil {
			return res, explain(err)
		}
		if len(found) == 0 {
			return res, api.NewError(api.CodeNotFound, fmt.Errorf("corpus %s lists nothing at %q", info.Name, what), "nothing was withdrawn; find the root or URI with: arborist query WORDS")
		}
		uris = append(uris, found...)
	}
	slices.Sort(uris)
	uris = slices.Compact(uris)
	signer, old, err := corpusSigners(n.home, info)
	if err != nil {
		return res, err
	}
	if err := n.beforeAppend(ctx, info); err != nil {
		return res, err
	}
	if err := n.shared.Publisher(info.Origin, signer, old...).Withdraw(ctx, uris, time.Now()); err != nil {
		return res, explain(err)
	}
	n.makeFilters(ctx)
	if info, err = n.lookupCorpus(ctx, info.Origin); err != nil {
		return res, err
	}
	return api.WithdrawResult{Corpus: info.Origin, Withdrawn: uris, Size: info.Size}, nil
}

// listedAt returns the URIs at which a corpus lists a root, or the URI itself
// where it lists something. What the shards hold as current counts too: a
// withdrawal that was cut short is ended by doing it again.
func (n *Node) listedAt(ctx context.Context, origin, rootOrURI string) (uris []string, err error) {
	var versions []shard.Version
	if root, parseErr := document.ParseRoot(rootOrURI); parseErr == nil {
		versions, err = n.shared.Locations(ctx, root)
	} else {
		versions, err = n.shared.History(ctx, rootOrURI)
		newest, err := n.shared.Corpora().History(ctx, origin, rootOrURI, 1)
		if err != nil {
			return nil, err
		}
		if len(newest) > 0 && newest[0].Record.Op != proof.OpWithdraw {
			return []string{rootOrURI}, nil
		}
	}
	if err != nil && !errors.Is(err, shard.ErrNotFound) {
		return nil, err
	}
	for _, v := range versions {
		if v.Current && v.Location.Corpus == origin {
			uris = append(uris, v.Location.URI)
		}
	}
	return uris, nil
}
