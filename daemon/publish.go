package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"arborist/daemon/api"
	"arborist/peer"
	"arborist/peer/target"
	"arborist/shard"
	"arborist/shard/corpus"
)

// Publish implements [api.Network]. It needs no network but that of a bucket:
// files are written from the shared store, which the handler for peers reads
// too.
func (n *Node) Publish(ctx context.Context, req api.PublishRequest, fn api.ProgressFunc) (res api.PublishResult, err error) {
	info, err := n.lookupCorpus(ctx, req.Corpus)
	if err != nil {
		return res, err
	}
	res.To, res.Corpus = req.To, corpusInfo(info)
	if info.Size == 0 && info.Seen > 0 {
		return res, api.NewError(api.CodeInvalid, fmt.Errorf("publish %s: %s", info.Name, n.corpusProblem(info, "")), "")
	}
	if info.Size == 0 {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("publish %s: it has no documents yet", info.Name), "arborist add PATH --corpus "+info.Name)
	}
	if info.Own && info.Frozen {
		return res, api.NewError(api.CodeInvalid, fmt.Errorf("publish %s: it is frozen: its own key has signed two histories", info.Name), "go on with a new corpus: arborist corpus create NAME")
	}
	if err := peer.Certify(ctx, n.home.PeerKey(), n.shared); err != nil {
		return res, explain(err)
	}
	n.makeFilters(ctx)
	to, err := openTarget(ctx, req.To)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	got, err := peer.Publish(ctx, n.shared, to, peer.PublishRequest{
		Corpus: info.Origin, Documents: req.Documents,
		Progress: func(g peer.Progress) {
			if fn != nil {
				fn(api.Progress{Stage: g.Stage, Done: int64(g.Documents), Total: int64(g.Total), Bytes: g.Bytes})
			}
		},
	})
	res.Files, res.Bytes, res.Before, res.Size = got.Files, got.Bytes, got.Before, got.Size
	switch {
	case errors.Is(err, corpus.ErrBehind):
		return res, api.NewError(api.CodeInvalid, err, "bring them back: arborist peer sync FROM "+info.Origin+", with the folder or the web address of what was published")
	case errors.Is(err, shard.ErrNotFound):
		return res, api.NewError(api.CodeInvalid, fmt.Errorf("a document that the corpus lists is not stored, as after a repair that took it out: %w", err),
			"see which: arborist check; bring it back: arborist check --heal --from FROM, or add its source again with arborist add; then publish again")
	case errors.Is(err, corpus.ErrEquivocation):
		return res, api.NewError(api.CodeInvalid, err, "its own key has signed two histories, and the evidence is kept: arborist status")
	}
	var unreached *url.Error
	if errors.As(err, &unreached) {
		return res, api.NewError(api.CodeUnavailable, err, "see that the bucket's service can be reached, and publish again: what is written stays")
	}
	return res, explain(err)
}

// noTarget explains why a bucket is not opened.
func noTarget(err error, hint string) error {
	if errors.Is(err, target.ErrAddress) {
		return api.NewError(api.CodeUsage, fmt.Errorf("publish: %w", err), "")
	}
	return api.NewError(api.CodeUnavailable, fmt.Errorf("publish: %w", err), hint)
}

// A closingTarget is a target with something to close.
type closingTarget interface {
	peer.Target
	io.Closer
}

// openTarget opens what --to names.
func openTarget(ctx context.Context, to string) (closingTarget, error) {
	if strings.HasPrefix(to, "s3://") {
		b, err := target.OpenS3(ctx, to)
		if err != nil {
			return nil, noTarget(err, "see that the bucket is there, and AWS_ENDPOINT_URL, AWS_REGION and credentials in the environment or ~/.aws/credentials of whoever runs the daemon, or this command")
		}
		return b, nil
	}
	if strings.HasPrefix(to, "gs://") {
		g, err := target.OpenGCS(to)
		if err != nil {
			return nil, noTarget(err, "name a key file in GOOGLE_APPLICATION_CREDENTIALS, or sign in (gcloud auth application-default login), as whoever runs the daemon, or this command")
		}
		return g, nil
	}
	if !filepath.IsAbs(to) {
		return nil, api.NewError(api.CodeUsage, fmt.Errorf("publish to %.200q: neither a folder nor s3://BUCKET/PREFIX or gs://BUCKET/PREFIX", to), "")
	}
	f, err := target.OpenFolder(strings.TrimSuffix(to, "/"))
	if err != nil {
		return nil, explain(fmt.Errorf("publish to %s: %w", to, err))
	}
	return f, nil
}
