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
	most := int64(packRun)
	if out.window.n > 0 {
		most = 0 // one by one: where the window ends is known as it is written
	}
	return h.coders.buffered(out, func(w io.Writer) error {
		var run []document.Header
		var size int64
		for _, r := range records {
			if r.Op == proof.OpWithdraw || out.skipped(elementSize(r.Header)) {
				continue
			}
			run, size = append(run, r.Header), size+int64(r.Header.Bytes)
			if size < most {
				continue
			}
			if err := h.sendRun(ctx, w, run, g, zip); err != nil || out.ended() {
				return err
			}
			run, size = run[:0], 0
		}
		return h.sendRun(ctx, w, run, g, zip)
	})
}

// packRun is how much text, and one document more, is read at once for a pack.
// One by one, small documents take most of their time in asking for them.
const packRun = 1 << 20

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

// sendRun sends some elements of a pack. It holds memory for these alone,
// whatever the pack.
func (h *handler) sendRun(ctx context.Context, w io.Writer, run []document.Header, g *guest, zip bool) error {
	docs, release, err := h.load(ctx, run, g, zip)
	if errors.Is(err, shard.ErrCorrupt) && len(run) > 1 {
		for i := range run { // those that are whole can be served
			if err := h.sendRun(ctx, w, run[i:i+1], g, zip); err != nil {
				return err
			}
		}
		return nil
	}
	if errors.Is(err, shard.ErrCorrupt) {
		docs, release, err = []shard.Stored{{Err: err}}, func() {}, nil
	}
	if err != nil {
		return err
	}
	defer release()
	for i, doc := range docs {
		err := doc.Err
		switch {
		case err == nil:
			err = writeElement(w, run[i], doc.Parts, zip)
		case errors.Is(err, shard.ErrNotFound), errors.Is(err, shard.ErrCorrupt):
			h.log.Error("a listed document cannot be served: run check", "root", run[i].Root, "error", err)
			if _, ok := w.(*reply); !ok { // within a range an absent element would move all that follow
				err = writeAbsent(w, zip)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// load reads documents that records list, for sending them to g.
func (h *handler) load(ctx context.Context, headers []document.Header, g *guest, zip bool) ([]shard.Stored, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	var size int64
	for _, header := range headers {
		size += int64(header.Bytes)
	}
	release, err := h.guests.hold(ctx, g, size)
	if err != nil {
		return nil, nil, err
	}
	g.worked(size)
	// Memory first: whoever waits for that, because others read slowly, has no turn.
	end, err := h.turns.take(ctx, g)
	if err != nil {
		release()
		return nil, nil, err
	}
	defer end()
	docs, err := h.shared.Stored(ctx, headers, zip)
	if err != nil {
		release()
		return nil, nil, err
	}
	return docs, release, nil
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
	out.endTurn()
	docs, release, err := h.load(ctx, []document.Header{header}, g, zip)
	if err != nil {
		return err
	}
	defer release()
	if err := docs[0].Err; err != nil {
		return err
	}
	out.compressible(zip)
	size := elementSize(header)
	if zip {
		size = -1
	} else if err := out.cut(size); err != nil {
		return err
	}
	out.head(typeBinary, size, true)
	return h.coders.buffered(out, func(w io.Writer) error { return writeElement(w, header, docs[0].Parts, zip) })
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
