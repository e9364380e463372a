package shard

import (
	"context"
	"sync"

	"arborist/document"
)

// maxShown is how many documents a foreign file may show for them to be held in
// memory, at about 100 bytes each.
const maxShown = 4096

// A shownCache holds the documents that a small foreign file shows. Such a file
// does not change, and there may be hundreds: to look each of them up in each
// of the others takes as many statements as there are pairs.
type shownCache struct {
	mu    sync.Mutex
	spans map[document.Root]span // nil until it is asked for; then never changed
}

// shown returns what a file shows, or nil where it is one of ours or large.
func (p *part) shown(ctx context.Context) (map[document.Root]span, error) {
	if !p.file.foreign || p.state.documents > maxShown {
		return nil, nil
	}
	c := p.file.shows
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spans != nil {
		return c.spans, nil
	}
	rows, err := p.tx.QueryContext(ctx, "SELECT root, id, id + chunks, words FROM documents WHERE visible = 1")
	if err != nil {
		return nil, p.file.fail(err)
	}
	defer rows.Close()
	spans := make(map[document.Root]span)
	for rows.Next() {
		var s span
		var root []byte
		if err := rows.Scan(&root, &s.First, &s.End, &s.words); err != nil {
			return nil, p.file.fail(err)
		}
		if len(root) != len(s.root) || len(spans) > maxShown {
			return nil, p.file.fail(corrupt("a root of %d bytes, or more documents than it counts", len(root)))
		}
		s.root = document.Root(root)
		spans[s.root] = s
	}
	if err := rows.Err(); err != nil {
		return nil, p.file.fail(err)
	}
	c.spans = spans
	return spans, nil
}

// inMemory computes an overlap from nothing where both files are small foreign
// ones; it returns false where they are not.
func (o *overlap) inMemory(ctx context.Context, parts [2]*part) (bool, error) {
	var spans [2]map[document.Root]span
	for i, p := range parts {
		var err error
		if spans[i], err = p.shown(ctx); err != nil || spans[i] == nil {
			return false, err
		}
	}
	small, big := 0, 1
	if len(spans[1]) < len(spans[0]) {
		small, big = 1, 0
	}
	o.shared = nil
	for root := range spans[small] {
		if _, also := spans[big][root]; also {
			if o.shared == nil {
				o.shared = make(map[document.Root][2]span)
			}
			o.shared[root] = [2]span{spans[0][root], spans[1][root]}
		}
	}
	return true, nil
}
