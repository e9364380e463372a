package shard

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"arborist/document"
	"arborist/shard/internal/index"
)

// A span is where a document stands in the index of a file.
type span struct {
	index.Range
	words int64
	root  document.Root
}

// An overlap is the documents that two files both show. It is kept up to date
// by looking at what changed since, which both files record by generation.
type overlap struct {
	mu     sync.Mutex
	valid  bool
	at     [2]int64 // generations that it is true for
	shared map[document.Root][2]span
	sides  [2][]span // the same for each file; replaced, never changed
}

// An overlapCache holds the overlaps of one file with others.
type overlapCache struct {
	mu   sync.Mutex
	with map[*File]*overlap
}

func newOverlapCache() *overlapCache { return &overlapCache{with: make(map[*File]*overlap)} }

func (c *overlapCache) get(other *File) *overlap {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.with[other]
	if o == nil {
		o = &overlap{}
		c.with[other] = o
	}
	return o
}

// skipDoubles finds, for every file, the documents that an earlier one shows
// too, takes them out of the file's statistics and has its rows skipped.
func (s *search) skipDoubles(ctx context.Context) error {
	for j, later := range s.parts {
		var doubles, hidden []span
		for _, earlier := range s.parts[:j] {
			if disjoint(earlier.file, later.file) {
				continue
			}
			both, err := commonTo(ctx, earlier, later)
			if err != nil {
				return err
			}
			doubles = append(doubles, both...)
			if !s.terms.filters.none() {
				// Only what the earlier file will return may be left out here.
				if both, err = s.within(ctx, earlier, both); err != nil {
					return err
				}
			}
			hidden = append(hidden, both...)
		}
		doubles = distinctSpans(doubles)
		for _, d := range doubles {
			later.state.passages -= d.End - d.First
			later.state.words -= d.words
		}
		later.uncounted = rangesOf(doubles)
		later.unseen = later.uncounted
		if !s.terms.filters.none() {
			later.unseen = rangesOf(distinctSpans(hidden))
		}
	}
	return nil
}

// distinctSpans sorts spans of one file and drops those that stand in it twice.
func distinctSpans(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.First, b.First) })
	return slices.CompactFunc(spans, func(a, b span) bool { return a.First == b.First })
}

func rangesOf(spans []span) []index.Range {
	ranges := make([]index.Range, len(spans))
	for i, s := range spans {
		ranges[i] = s.Range
	}
	return index.Union(ranges)
}

// within returns the spans whose documents pass the filters of the query in
// this file.
func (s *search) within(ctx context.Context, p *part, spans []span) ([]span, error) {
	passing := make(map[document.Root]bool)
	for batch := range slices.Chunk(spans, batchSize) {
		list, err := rootList(batch, func(s span) document.Root { return s.root })
		if err != nil {
			return nil, err
		}
		rows, err := p.tx.QueryContext(ctx, "SELECT j.key, d.id FROM json_each(?) j JOIN documents d ON d.root = unhex(j.value)", list)
		if err != nil {
			return nil, p.file.fail(err)
		}
		failing, _, err := p.failing(ctx, s.terms.filters, 1<<62)
		if err != nil {
			rows.Close()
			return nil, p.file.fail(err)
		}
		for rows.Next() {
			var key int
			var id int64
			if err := rows.Scan(&key, &id); err != nil {
				rows.Close()
				return nil, p.file.fail(err)
			}
			passing[batch[key].root] = !index.Holds(failing, id)
		}
		if err := rows.Err(); err != nil {
			return nil, p.file.fail(err)
		}
	}
	return slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return !passing[s.root] }), nil
}

// batchSize is how many roots one statement looks up.
const batchSize = 10_000

// rootList writes the roots of items as the JSON list that statements take.
func rootList[T any](items []T, root func(T) document.Root) (string, error) {
	keys := make([]string, len(items))
	for i, item := range items {
		r := root(item)
		keys[i] = hex.EncodeToString(r[:])
	}
	list, err := json.Marshal(keys)
	return string(list), err
}

// disjoint reports whether no root can be in both files: two files of sets of
// ours that hold different leading bits. What a stranger's file says that it
// holds does not count.
func disjoint(a, b *File) bool {
	if a.foreign || b.foreign {
		return false
	}
	return (a.number+1)*b.total <= b.number*a.total || (b.number+1)*a.total <= a.number*b.total
}

// commonTo returns the documents that both snapshots show, as they stand in the
// later one.
func commonTo(ctx context.Context, earlier, later *part) ([]span, error) {
	// The overlap lives with the file that will be closed first: a foreign one
	// may be open for a single search.
	parts, side := [2]*part{earlier, later}, 1
	if !later.file.foreign && (earlier.file.foreign || earlier.file.path > later.file.path) {
		parts, side = [2]*part{later, earlier}, 0
	}
	o := parts[1].file.overlaps.get(parts[0].file)
	o.mu.Lock()
	defer o.mu.Unlock()
	now := [2]int64{parts[0].state.generation, parts[1].state.generation}
	if o.valid && (o.at[0] > now[0] || o.at[1] > now[1]) {
		// Another search has seen a later state already: for this snapshot the
		// overlap is computed from nothing and forgotten.
		o = &overlap{}
	}
	if err := o.update(ctx, parts, now); err != nil {
		o.valid = false
		return nil, err
	}
	return o.sides[side], nil
}

// update brings an overlap to a later pair of generations.
func (o *overlap) update(ctx context.Context, parts [2]*part, now [2]int64) error {
	if o.valid && o.at == now {
		return nil
	}
	if !o.valid {
		if done, err := o.inMemory(ctx, parts); err != nil {
			return err
		} else if done {
			o.settle(now)
			return nil
		}
	}
	var changed []document.Root
	if o.valid {
		for i, p := range parts {
			roots, err := p.roots(ctx, "SELECT root FROM documents WHERE changed > ?", o.at[i])
			if err != nil {
				return err
			}
			changed = append(changed, roots...)
		}
	} else {
		o.shared = make(map[document.Root][2]span)
		// What both show, the file with fewer documents shows.
		small, big := parts[0], parts[1]
		if big.state.documents < small.state.documents {
			small, big = big, small
		}
		var err error
		if changed, err = small.roots(ctx, "SELECT root FROM documents WHERE visible = ?", int64(1)); err != nil {
			return err
		}
		if !big.file.foreign {
			changed = slices.DeleteFunc(changed, func(r document.Root) bool { return !big.file.holds(r) })
		}
	}
	var spans [2]map[document.Root]span
	for i, p := range parts {
		var err error
		if spans[i], err = p.spans(ctx, changed); err != nil {
			return err
		}
	}
	for _, root := range changed {
		first, ok := spans[0][root]
		second, also := spans[1][root]
		if ok && also {
			o.shared[root] = [2]span{first, second}
		} else {
			delete(o.shared, root)
		}
	}
	o.settle(now)
	return nil
}

// settle makes shared what the overlap is as of two generations.
func (o *overlap) settle(now [2]int64) {
	o.sides = [2][]span{}
	for _, spans := range o.shared {
		o.sides[0] = append(o.sides[0], spans[0])
		o.sides[1] = append(o.sides[1], spans[1])
	}
	o.at, o.valid = now, true
}

func (p *part) roots(ctx context.Context, query string, arg int64) ([]document.Root, error) {
	rows, err := p.tx.QueryContext(ctx, query, arg)
	if err != nil {
		return nil, p.file.fail(err)
	}
	defer rows.Close()
	var all []document.Root
	for rows.Next() {
		var raw sql.RawBytes
		if err := rows.Scan(&raw); err != nil {
			return nil, p.file.fail(err)
		}
		if len(raw) != len(document.Root{}) {
			return nil, p.file.fail(corrupt("a root of %d bytes", len(raw)))
		}
		all = append(all, document.Root(raw))
	}
	return all, p.file.fail(rows.Err())
}

// spans finds which of some documents a file shows, and where.
func (p *part) spans(ctx context.Context, roots []document.Root) (map[document.Root]span, error) {
	found := make(map[document.Root]span)
	for batch := range slices.Chunk(roots, batchSize) {
		list, err := rootList(batch, func(r document.Root) document.Root { return r })
		if err != nil {
			return nil, err
		}
		rows, err := p.tx.QueryContext(ctx, `SELECT j.key, d.id, d.id + d.chunks, d.words
			FROM json_each(?) j JOIN documents d ON d.root = unhex(j.value) WHERE d.visible = 1`, list)
		if err != nil {
			return nil, p.file.fail(err)
		}
		for rows.Next() {
			var key int
			var s span
			if err := rows.Scan(&key, &s.First, &s.End, &s.words); err != nil {
				rows.Close()
				return nil, p.file.fail(err)
			}
			s.root = batch[key]
			found[s.root] = s
		}
		if err := rows.Err(); err != nil {
			return nil, p.file.fail(err)
		}
	}
	return found, nil
}
