package index

import (
	"cmp"
	"context"
	"strings"
)

// GetRow reads a row. The data must stay as it is.
type GetRow func(row int64) ([]byte, error)

// A Reader reads the segments of one state of a file.
type Reader struct {
	get      GetRow
	cache    *Cache
	segments []*segment // in the order of passages
	counts   []*segment
}

// A segment is an open segment.
type segment struct {
	Segment
	head *head
}

// Open opens segments: those of one state of a file. Those of postings ascend.
func Open(segments []Segment, get GetRow, cache *Cache) (*Reader, error) {
	r := &Reader{get: get, cache: cache}
	end := int64(0)
	for _, s := range segments {
		if s.Rows < 1 || s.Base < 0 || s.Base > 1<<62 || s.Rows > 1<<62 {
			return nil, formatErrorf("a segment of %d rows from %d on", s.Rows, s.Base)
		}
		if s.Level < 0 || s.Level > maxLevel {
			return nil, formatErrorf("a segment of level %d", s.Level)
		}
		data, err := r.row(s.Base + s.Rows - 1)
		if err != nil {
			return nil, err
		}
		h, err := decodeHead(data, s.Rows)
		if err != nil {
			return nil, err
		}
		if s.Counts {
			r.counts = append(r.counts, &segment{s, h})
			continue
		}
		if int64(h.passages()) != s.Passages || s.First < end || s.First > 1<<62 || s.Passages > 1<<31 {
			return nil, formatErrorf("a segment of %d passages from %d on has %d", s.Passages, s.First, h.passages())
		}
		end = s.First + s.Passages
		r.segments = append(r.segments, &segment{s, h})
	}
	return r, nil
}

// With returns the same index read through other means: another transaction
// that sees the same state.
func (r *Reader) With(get GetRow) *Reader {
	other := *r
	other.get = get
	return &other
}

func (r *Reader) row(row int64) ([]byte, error) {
	if data, ok := r.cache.get(row); ok {
		return data, nil
	}
	data, err := r.get(row)
	if err != nil {
		return nil, err
	}
	r.cache.put(row, data)
	return data, nil
}

// lookup finds a term in a segment.
func (r *Reader) lookup(s *segment, term string) (entry, bool, error) {
	i := findBlock(s.head.firsts, term)
	if i < 0 {
		return entry{}, false, nil
	}
	found, ok := entry{}, false
	err := r.scan(s, i, func(e *entry) bool {
		c := strings.Compare(string(e.term), term)
		if c == 0 {
			found, ok = *e, true
			found.term = []byte(term)
		}
		return c < 0
	}, 1)
	return found, ok, err
}

// scan calls fn with the entries of a segment from block i on, of at most n
// blocks, while it returns true.
func (r *Reader) scan(s *segment, i int, fn func(*entry) bool, n int) error {
	for ; i < len(s.head.firsts) && n > 0; i, n = i+1, n-1 {
		data, err := r.row(s.Base + s.head.rows[i])
		if err != nil {
			return err
		}
		b := blockReader{buffer: buffer{b: data}, counts: s.Counts}
		for {
			more, err := b.next()
			if err != nil {
				return err
			}
			if b.read <= 1 && string(b.entry.term) != s.head.firsts[i] {
				return formatErrorf("a dictionary block does not begin with the term that its head names")
			}
			if !more {
				break
			}
			if !fn(&b.entry) {
				return nil
			}
		}
		// Or else a look-up, which goes by the first terms, would miss the last.
		if i+1 < len(s.head.firsts) && string(b.entry.term) >= s.head.firsts[i+1] {
			return formatErrorf("a dictionary block goes beyond the first term of the next")
		}
	}
	return nil
}

// counted returns what segments of counts say of a term.
func (r *Reader) counted(term string) (n Count, err error) {
	for _, s := range r.counts {
		e, ok, err := r.lookup(s, term)
		if err != nil {
			return n, err
		}
		if ok {
			n = n.plus(e.sum)
		}
	}
	return n, nil
}

// Each calls fn with every posting, position by position. It fails where what
// a search goes by is not so: the first terms of dictionary blocks, how often
// the dictionary says that a term stands, the limits of blocks.
func (r *Reader) Each(ctx context.Context, fn func(term []byte, passage int64, position uint32)) error {
	var at []uint32
	for _, s := range r.segments {
		var failed error
		c := r.open(s, entry{})
		err := r.scan(s, 0, func(e *entry) bool {
			c.reset(s, *e)
			n, times := uint64(0), uint64(0)
			for {
				more, err := c.next()
				if failed = cmp.Or(err, ctx.Err()); failed != nil {
					return false
				}
				if !more {
					failed = e.counts(n, times)
					return failed == nil
				}
				n, times = n+1, times+uint64(c.tf())
				if failed = c.withinLimit(); failed != nil {
					return false
				}
				if at, failed = c.positions(at[:0]); failed != nil {
					return false
				}
				for _, p := range at {
					fn(e.term, s.First+int64(c.doc()), p)
				}
			}
		}, len(s.head.firsts))
		if err := cmp.Or(failed, err); err != nil {
			return err
		}
	}
	return nil
}

// EachCount calls fn with everything that segments of counts hold.
func (r *Reader) EachCount(ctx context.Context, fn func(term []byte, n Count)) error {
	for _, s := range r.counts {
		err := r.scan(s, 0, func(e *entry) bool {
			fn(e.term, e.sum)
			return ctx.Err() == nil
		}, len(s.head.firsts))
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// Size returns how many passages the segments cover, and the words in them.
func (r *Reader) Size() (passages, words int64) {
	for _, s := range r.segments {
		passages += s.Passages
		for i := range s.head.passages() {
			words += int64(s.head.length(uint32(i)))
		}
	}
	return passages, words
}

// Length returns the words of a passage; false where no segment covers it.
func (r *Reader) Length(passage int64) (int, bool) {
	for _, s := range r.segments {
		if passage >= s.First && passage < s.First+s.Passages {
			return s.head.length(uint32(passage - s.First)), true
		}
	}
	return 0, false
}
