package daemon

import (
	"context"
	"errors"
	"fmt"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// Text implements [api.Reader].
func (n *Node) Text(ctx context.Context, root document.Root) ([]byte, error) {
	d, _, err := n.document(ctx, root)
	if err != nil {
		return nil, err
	}
	return d.Text(), nil
}

// attachedDocument returns a document of an attached file, hashed whole.
func (n *Node) attachedDocument(ctx context.Context, root document.Root) (*document.Document, error) {
	files, _, release := n.attached.acquire()
	defer release()
	for _, f := range files {
		if d, err := f.Document(ctx, root); !errors.Is(err, shard.ErrNotFound) {
			return d, err
		}
	}
	return nil, fmt.Errorf("document %s: %w", root, shard.ErrNotFound)
}

// Show implements [api.Reader].
func (n *Node) Show(ctx context.Context, rootOrURI string) (res api.ShowResult, err error) {
	root, err := document.ParseRoot(rootOrURI)
	if err != nil {
		if root, err = n.currentRoot(ctx, rootOrURI); err != nil {
			return res, err
		}
	}
	passage, source, err := n.passage(ctx, root, 0)
	if err != nil {
		return res, err
	}
	h := passage.Header
	res = api.ShowResult{
		Root: root, ID: h.ID(), Chunks: h.Chunks, Bytes: h.Bytes,
		Norm: h.Norm, Chunker: h.Chunker, Source: source, Locations: []api.Version{},
	}
	if res.Locations, err = n.ownVersions(ctx, func(s versionStore) ([]shard.Version, error) { return s.Locations(ctx, root) }); err != nil {
		return res, err
	}
	files, _, release := n.attached.acquire()
	defer release()
	for _, f := range files {
		found, err := f.Locations(ctx, root)
		if err != nil && !errors.Is(err, shard.ErrNotFound) {
			return res, explain(err)
		}
		res.Locations = append(res.Locations, versions(found, sourceFile)...)
	}
	return res, nil
}

func (n *Node) currentRoot(ctx context.Context, uri string) (document.Root, error) {
	h, err := n.History(ctx, uri)
	if err != nil {
		return document.Root{}, err
	}
	for _, v := range h.Versions {
		if v.Current {
			return v.Root, nil
		}
	}
	return h.Versions[0].Root, nil
}

// History implements [api.Reader].
func (n *Node) History(ctx context.Context, uri string) (res api.HistoryResult, err error) {
	res.URI = uri
	if res.Versions, err = n.ownVersions(ctx, func(s versionStore) ([]shard.Version, error) { return s.History(ctx, uri) }); err != nil {
		return api.HistoryResult{}, err
	}
	if len(res.Versions) == 0 {
		return api.HistoryResult{}, api.NewError(api.CodeNotFound, fmt.Errorf("nothing is known of %q", uri), "find it with: arborist query WORDS")
	}
	return res, nil
}

// A versionStore knows versions of documents: the shared set, or a private file.
type versionStore interface {
	Locations(context.Context, document.Root) ([]shard.Version, error)
	History(ctx context.Context, uri string) ([]shard.Version, error)
}

// ownVersions returns the versions that the shared set has by a look-up, and then
// those of the private store. One that cannot be used has none.
func (n *Node) ownVersions(ctx context.Context, find func(versionStore) ([]shard.Version, error)) ([]api.Version, error) {
	shared, err := find(n.shared)
	if err != nil && !errors.Is(err, shard.ErrNotFound) {
		return nil, explain(err)
	}
	private, err := find(n.private.File())
	if err != nil && !errors.Is(err, shard.ErrNotFound) && !errors.Is(err, shard.ErrBroken) {
		return nil, explain(err)
	}
	ours, err := n.privateVersions(ctx, versions(private, sourceCrawl))
	if err != nil {
		return nil, err
	}
	listed, err := n.listedVersions(ctx, shared)
	if err != nil {
		return nil, err
	}
	return append(listed, ours...), nil
}

// listedVersions returns versions of shared documents, newest first at each URI,
// with what the logs say of each: the record that listed it, and what ended that.
// A text that was listed again at its URI has a version, and a record, for each
// time.
func (n *Node) listedVersions(ctx context.Context, shared []shard.Version) ([]api.Version, error) {
	type place struct{ corpus, uri string }
	logs := map[place][]corpus.Entry{} // newest first
	used := map[place]int{}            // of those, the ones that newer versions have
	out := versions(shared, sourceShared)
	for i := range out {
		v := &out[i]
		at := place{v.Corpus, v.URI}
		entries, ok := logs[at]
		if !ok {
			var err error
			entries, err = n.shared.Corpora().History(ctx, v.Corpus, v.URI, corpus.MaxRecords)
			if err != nil && !isNotFound(err) {
				return nil, explain(err)
			}
			logs[at] = entries
		}
		for k := used[at]; k < len(entries); k++ {
			if r := entries[k].Record; r.Op == proof.OpWithdraw || r.Header.Root != v.Root {
				continue
			}
			used[at] = k + 1
			v.Index = &entries[k].Index
			if k > 0 {
				end := &entries[k-1]
				v.EndedIndex = &end.Index
				if end.Record.Op == proof.OpWithdraw {
					v.WithdrawnAt = &end.Record.FetchedAt
				}
			}
			break
		}
	}
	return out, nil
}

func versions(vs []shard.Version, source string) []api.Version {
	out := []api.Version{}
	for _, v := range vs {
		out = append(out, api.Version{
			Root: v.Root, URI: v.Location.URI, Title: v.Location.Title, Corpus: v.Location.Corpus,
			Source: source, FetchedAt: v.Location.FetchedAt, Current: v.Current, Replaced: v.SupersededBy != (document.Root{}),
		})
	}
	return out
}
