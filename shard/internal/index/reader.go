package index

import (
	"strings"
)

// GetRow reads a row. The data must stay as it is.
type GetRow func(row int64) ([]byte, error)

// A Reader reads the segments of one state of a file.
type Reader struct {
	get      GetRow
	cache    *Cache
	segments []*segment // in the order of passages
	negative []*segment
}

// A segment is an open segment.
type segment struct {
	Segment
	head *head
}

// Open opens segments: those of one state of a file, in any order of negative
// and positive ones, the positive ones ascending.
func Open(segments []Segment, get GetRow, cache *Cache) (*Reader, error) {
	r := &Reader{get: get, cache: cache}
	end := int64(0)
	for _, s := range segments {
		if s.Rows < 1 || s.Base < 0 || s.Base > 1<<62 || s.Rows > 1<<62 {
			return nil, formatErrorf("a segment of %d rows from %d on", s.Rows, s.Base)
		}
		data, err := r.row(s.Base + s.Rows - 1)
		if err != nil {
			return nil, err
		}
		h, err := decodeHead(data, s.Rows)
		if err != nil {
			return nil, err
		}
		if s.Negative {
			r.negative = append(r.negative, &segment{s, h})
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
		b := blockReader{buffer: buffer{b: data}, negative: s.Negative}
		for {
			more, err := b.next()
			if err != nil {
				return err
			}
			if !more {
				break
			}
			if !fn(&b.entry) {
				return nil
			}
		}
	}
	return nil
}

// count returns how many passages hold a term, dead ones left out.
func (r *Reader) count(term string) (n int64, err error) {
	for _, s := range r.segments {
		e, ok, err := r.lookup(s, term)
		if err != nil {
			return 0, err
		}
		if ok {
			n += int64(min(e.n, 1<<32))
		}
	}
	for _, s := range r.negative {
		e, ok, err := r.lookup(s, term)
		if err != nil {
			return 0, err
		}
		if ok {
			n -= int64(min(e.n, 1<<32))
		}
	}
	if n < 0 {
		return 0, formatErrorf("fewer than no passages hold a term")
	}
	return n, nil
}
