package peer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"arborist/document"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// servePack sends the documents of one entry bundle. The records come from the
// signed log, so it can name nothing but what the corpus lists.
func (h *handler) servePack(ctx context.Context, out *reply, res resource, g *guest, zip bool) error {
	lookup, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	from := res.index * tileWidth
	records, err := h.shared.Corpora().Records(lookup, res.corpus.String(), from, from+uint64(res.width))
	if err != nil {
		return err
	}
	if len(records) != res.width {
		return corpus.ErrNotFound
	}
	out.compressible(zip)
	if !zip {
		if err := out.cut(packSize(records)); err != nil {
			return err
		}
	}
	out.head(typeBinary, -1, true)
	return h.coders.buffered(out, func(w io.Writer) error {
		for _, r := range records {
			if r.Op == proof.OpWithdraw || out.skipped(elementSize(r.Header)) {
				continue
			}
			if err := h.sendElement(ctx, w, r.Header, g, zip); err != nil {
				return err
			}
			if out.ended() {
				return nil
			}
		}
		return nil
	})
}

// packSize returns how many bytes a pack of these records has where no element
// is absent.
func packSize(records []proof.Record) (n int64) {
	for _, r := range records {
		if r.Op != proof.OpWithdraw {
			n += elementSize(r.Header)
		}
	}
	return n
}

// sendElement sends one element of a pack. It holds memory for one document at
// a time, whatever the pack.
func (h *handler) sendElement(ctx context.Context, w io.Writer, header document.Header, g *guest, zip bool) error {
	doc, release, err := h.load(ctx, header, g)
	switch {
	case errors.Is(err, shard.ErrNotFound), errors.Is(err, shard.ErrCorrupt):
		h.log.Error("a listed document cannot be served: run check", "root", header.Root, "error", err)
		if _, ok := w.(*reply); ok {
			return err // within a range an absent element would move all that follow
		}
		return writeAbsent(w, zip)
	case err != nil:
		return err
	}
	defer release()
	return writeElement(w, doc, zip)
}

// load reads a document that a record lists, for sending it to g.
func (h *handler) load(ctx context.Context, header document.Header, g *guest) (*shard.Stored, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	release, err := h.guests.hold(ctx, g, int64(header.Bytes))
	if err != nil {
		return nil, nil, err
	}
	g.worked(int64(header.Bytes))
	doc, err := h.shared.Stored(ctx, header.Root)
	if err == nil && doc.Header != header {
		err = fmt.Errorf("%w: document %s is stored with another header than its record has", shard.ErrCorrupt, header.Root)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return doc, release, nil
}

// listed returns the log's word on a document, or nothing where no record of
// this corpus, current or past, lists it. Every question about a root starts
// here, in the log, so that the shards are never asked for what is not listed.
func (h *handler) listed(ctx context.Context, res resource) (*proof.LogPart, error) {
	return h.shared.Corpora().Prove(ctx, res.corpus.String(), res.root)
}

func (h *handler) serveDoc(ctx context.Context, out *reply, res resource, g *guest, zip bool) error {
	part, err := h.listed(ctx, res)
	if err != nil {
		return err
	}
	header := part.Record.Header
	doc, release, err := h.load(ctx, header, g)
	if err != nil {
		return err
	}
	defer release()
	out.compressible(zip)
	size := elementSize(header)
	if zip {
		size = -1
	} else if err := out.cut(size); err != nil {
		return err
	}
	out.head(typeBinary, size, true)
	return h.coders.buffered(out, func(w io.Writer) error { return writeElement(w, doc, zip) })
}

func (h *handler) serveProof(ctx context.Context, out *reply, res resource) error {
	part, err := h.listed(ctx, res)
	if err != nil {
		return err
	}
	if res.chunk >= part.Record.Header.Chunks {
		return errNothing
	}
	passage, err := h.shared.Passage(ctx, res.root, res.chunk)
	if err != nil {
		return err
	}
	p := proof.Proof{
		Chunk:  proof.Inclusion{Index: passage.Index, Path: passage.Path},
		Header: passage.Header,
		Log:    part,
		Text:   passage.Text,
	}
	text, err := p.MarshalText()
	if err != nil {
		return fmt.Errorf("write proof of %s, chunk %d: %w", res.root, res.chunk, err)
	}
	return out.whole(typeText, text, false)
}
