package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/internal/arbtest/stranger"
)

func (d *demo) startDaemons(ctx context.Context) error {
	d.addrsOf = map[*node][]string{}
	for _, n := range []*node{&d.a, &d.b} {
		if err := d.start(ctx, n); err != nil {
			return err
		}
		var id api.PeerIDResult
		if err := d.ask(ctx, n, &id, "peer", "id"); err != nil {
			return err
		}
		if len(id.Addrs) == 0 {
			return errors.New("a daemon listens nowhere")
		}
		d.addrsOf[n] = id.Addrs
	}
	return nil
}

func (d *demo) sync(ctx context.Context) error {
	addr := d.addrsOf[&d.a][0]
	var res api.SyncResult
	if err := d.ask(ctx, &d.b, &res, "peer", "sync", addr, "main"); err != nil {
		return err
	}
	if res.Documents == 0 || res.Verified != res.Documents {
		return fmt.Errorf("%d documents came, %d verified", res.Documents, res.Verified)
	}
	say("sync", "b follows a's main over libp2p: %d documents, %d chunks, %d bytes, every one verified on arrival", res.Documents, res.Chunks, res.Bytes)
	return nil
}

func (d *demo) queryFollower(ctx context.Context) error {
	private, passages, err := d.privateHits(ctx)
	if err != nil {
		return err
	}
	var res api.QueryResult
	if err := d.ask(ctx, &d.b, &res, "query", "--limit", "1000", question); err != nil {
		return err
	}
	found := false
	for _, h := range res.Hits {
		if private[h.Root] {
			return errors.New("the follower found a private document")
		}
		found = found || h.Root == d.shared.Root && h.Chunk == d.shared.Chunk
	}
	if !found {
		return errors.New("the follower does not find the shared passage")
	}
	say("", "b finds the shared passage itself now, and none of the %d in a's crawl", passages)
	return nil
}

// privateHits returns the documents of a's crawl that the question finds, and in
// how many passages.
func (d *demo) privateHits(ctx context.Context) (roots map[document.Root]bool, passages int, err error) {
	var res api.QueryResult
	if err := d.ask(ctx, &d.a, &res, "query", "--limit", "1000", question); err != nil {
		return nil, 0, err
	}
	roots = make(map[document.Root]bool)
	for _, h := range res.Hits {
		if h.Source == "crawl" {
			roots[h.Root] = true
			passages++
		}
	}
	if passages == 0 {
		return nil, 0, errors.New("the question finds nothing in the crawl any more")
	}
	return roots, passages, nil
}

// askForPrivate asks a, as a peer can, for a document of its crawl and for one
// that is nowhere. Both replies must be the same, byte for byte; and the same
// request for a shared document must succeed, or the others would show nothing.
func (d *demo) askForPrivate(ctx context.Context) error {
	s, err := stranger.Dial(ctx, d.addrsOf[&d.a][0])
	if err != nil {
		return err
	}
	defer s.Close()
	doc := func(root document.Root) (stranger.Reply, error) {
		return s.Get(ctx, d.shared.Corpus+"/doc/"+root.String())
	}
	shared, err := doc(d.shared.Root)
	if err != nil {
		return err
	}
	private, err := doc(d.private.Root)
	if err != nil {
		return err
	}
	nowhere, err := doc(document.Root{1, 2, 3})
	if err != nil {
		return err
	}
	if shared.Status != http.StatusOK {
		return fmt.Errorf("the shared document was refused:\n%s", shared.Raw)
	}
	if private.Status == http.StatusOK || private.Raw != nowhere.Raw {
		return fmt.Errorf("the reply for a private root differs from that for one that is nowhere:\n%s\n%s", private.Raw, nowhere.Raw)
	}
	say("private", "a stranger asks a for the crawled document %s:", d.private.Root)
	say("", "refused with %d, byte for byte the reply for a document that is nowhere (the shared one is served)", private.Status)
	return nil
}

func (d *demo) stopDaemons(context.Context) error {
	return errors.Join(d.stop(&d.a), d.stop(&d.b))
}
