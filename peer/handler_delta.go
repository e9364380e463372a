package peer

import (
	"context"

	"arborist/document"
	"arborist/merkle"
)

// serveDelta sends what a document has that another one has not. Both have to be
// listed, as by [handler.serveDoc].
func (h *handler) serveDelta(ctx context.Context, out *reply, res resource, g *guest, zip bool) error {
	part, err := h.listed(ctx, res)
	if err != nil {
		return err
	}
	old := res
	old.root = res.old
	oldPart, err := h.listed(ctx, old)
	if err != nil {
		return err
	}
	header, from := part.Record.Header, oldPart.Record.Header
	if header.Chunks > 2*from.Chunks {
		return errNothing
	}
	out.endTurn()
	// The hashes of both, and of the text half at most.
	release, err := h.guests.hold(ctx, g, int64(max(header.Bytes, from.Bytes)))
	if err != nil {
		return err
	}
	defer release()
	delta, err := h.delta(ctx, header, from, g)
	if err != nil {
		return err
	}
	out.compressible(zip)
	if !zip {
		return out.whole(typeBinary, delta, true)
	}
	out.head(typeBinary, -1, true)
	return h.coders.compressed(out, delta)
}

// delta makes the delta between two documents, in a turn of g's.
func (h *handler) delta(ctx context.Context, header, old document.Header, g *guest) ([]byte, error) {
	g.charge(int((header.Chunks + old.Chunks) / workLeaves))
	end, err := h.turns.take(ctx, g)
	if err != nil {
		return nil, err
	}
	defer end()
	leaves, err := h.shared.Leaves(ctx, header.Root)
	if err != nil {
		return nil, err
	}
	had, err := h.shared.Leaves(ctx, old.Root)
	if err != nil {
		return nil, err
	}
	runs, fresh := planDelta(leaves, had)
	if !deltaPays(len(fresh), header.Chunks) {
		return nil, errNothing
	}
	chunks, err := h.shared.Chunks(ctx, header.Root, leaves, fresh)
	if err != nil {
		return nil, err
	}
	size := 4 + 8*len(runs) + len(fresh)*(merkle.HashSize+2)
	for _, chunk := range chunks {
		size += len(chunk)
	}
	g.worked(int64(size))
	b := appendRuns(make([]byte, 0, size), runs)
	for _, chunk := range chunks {
		b = appendChunk(b, chunk)
	}
	return b, nil
}
