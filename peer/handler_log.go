package peer

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"arborist/document/filter"
	"arborist/shard/corpus"
)

// A listing is one corpus in the resource "corpora". It is what the server
// says, unsigned: a client uses it to choose, never to believe.
type listing struct {
	Origin    string `json:"origin"`
	Size      uint64 `json:"size"`
	Documents uint64 `json:"documents"`
	Head      string `json:"head"` // root of the log, base64
}

type listings struct {
	Corpora []listing `json:"corpora"`
}

// served reports whether a corpus has something to serve: a signed head.
func served(c corpus.Info) bool { return c.Size > 0 }

func (h *handler) serveCorpora(ctx context.Context, out *reply) error {
	infos, err := h.shared.Corpora().List(ctx)
	if err != nil {
		return err
	}
	list := listings{Corpora: []listing{}}
	for _, c := range infos {
		if served(c) && len(list.Corpora) < maxCorpora {
			list.Corpora = append(list.Corpora, listing{
				Origin: c.Origin, Size: c.Size, Documents: c.Documents,
				Head: base64.StdEncoding.EncodeToString(c.Root[:]),
			})
		}
	}
	b, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return out.whole(typeJSON, append(b, '\n'), false)
}

func (h *handler) serveKey(ctx context.Context, out *reply, res resource) error {
	text, err := certified(ctx, h.shared.Corpora(), h.id, res.corpus.String())
	if err != nil {
		return err
	}
	return out.whole(typeText, text, false)
}

func (h *handler) serveCheckpoint(ctx context.Context, out *reply, res resource) error {
	note, err := h.shared.Corpora().Note(ctx, res.corpus.String())
	if err != nil {
		return err
	}
	return out.whole(typeText, note, false)
}

func (h *handler) serveRotations(ctx context.Context, out *reply, res resource) error {
	// A corpus that is not followed any more keeps its rotations and has no head.
	if _, err := h.shared.Corpora().Note(ctx, res.corpus.String()); err != nil {
		return err
	}
	file, err := h.shared.Corpora().Rotations(ctx, res.corpus.String())
	if err != nil {
		return err
	}
	return out.whole(typeText, file, false)
}

func (h *handler) serveFilter(ctx context.Context, out *reply, res resource) error {
	_, note, err := h.shared.Corpora().Filter(ctx, res.corpus.String())
	if err != nil {
		return err
	}
	return out.whole(typeText, note, false)
}

func (h *handler) serveFuse(ctx context.Context, out *reply, res resource, g *guest) error {
	out.endTurn() // reading a filter is little work, and waiting for its memory may be long
	release, err := h.guests.hold(ctx, g, int64(filter.MaxBytes))
	if err != nil {
		return err
	}
	defer release()
	bytes, err := h.shared.Corpora().FilterBytes(ctx, res.corpus.String(), res.sum)
	if err != nil {
		return err
	}
	g.worked(int64(len(bytes)))
	return out.whole(typeBinary, bytes, true)
}

func (h *handler) serveTile(ctx context.Context, out *reply, res resource) error {
	tile, err := h.shared.Corpora().Tile(ctx, res.corpus.String(), res.level, res.index, res.width)
	if err != nil {
		return err
	}
	return out.whole(typeBinary, tile, true)
}

func (h *handler) serveEntries(ctx context.Context, out *reply, res resource, zip bool) error {
	bundle, err := h.shared.Corpora().Entries(ctx, res.corpus.String(), res.index, res.width)
	if err != nil {
		return err
	}
	out.compressible(zip)
	if !zip {
		return out.whole(typeBinary, bundle, true)
	}
	out.head(typeBinary, -1, true)
	return h.coders.compressed(out, bundle)
}
