package fetch

import (
	"fmt"
	"io"
)

func tooLarge(what string, limit int64) error {
	return fmt.Errorf("%s %w of %d bytes", what, ErrTooLarge, limit)
}

// A counted reader counts what passes and fails after limit bytes.
type counted struct {
	r     io.Reader
	what  string // for the error
	n     int64
	limit int64
}

func (c *counted) Read(p []byte) (int, error) {
	// One byte over the limit is asked for, to tell a body that ends there
	// from one that goes on.
	if room := c.limit - c.n + 1; int64(len(p)) > room {
		p = p[:max(room, 0)]
	}
	if c.n > c.limit {
		return 0, tooLarge(c.what, c.limit)
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.n > c.limit {
		return n, tooLarge(c.what, c.limit)
	}
	return n, err
}

// readUpTo reads r to its end or to limit bytes, and says whether r went on
// after them. hint is the expected length, 0 where unknown. Memory is taken
// piece by piece as bytes arrive, so that a long body costs no more than the
// limit, and a lying hint no more than what it says. What fits into room is read
// there.
func readUpTo(r io.Reader, limit, hint int64, room []byte) (pieces [][]byte, more bool, err error) {
	size := hint + 1 // room to see the end without another piece
	if hint <= 0 {
		size = 16 << 10
	}
	var total int64
	for {
		size = min(size, limit+1-total)
		piece := room
		if room = nil; int64(len(piece)) < size {
			piece = make([]byte, size)
		}
		piece = piece[:min(int64(len(piece)), limit+1-total)]
		n, err := fill(r, piece)
		total += int64(n)
		pieces = append(pieces, piece[:n])
		switch {
		case total > limit:
			return pieces, true, nil
		case err == io.EOF:
			return pieces, false, nil
		case err != nil:
			return nil, false, err
		}
		size = min(max(2*size, 16<<10), 1<<20)
	}
}

// fill reads until p is full or r ends. Unlike io.ReadFull it passes on the
// error of r as it is: "unexpected end" must come from r alone.
func fill(r io.Reader, p []byte) (int, error) {
	n, idle := 0, 0
	for n < len(p) {
		m, err := r.Read(p[n:])
		n += m
		if err != nil {
			return n, err
		}
		if m > 0 {
			idle = 0
		} else if idle++; idle > 100 {
			return n, io.ErrNoProgress
		}
	}
	return n, nil
}

// join gives the first limit bytes of the pieces as one slice.
func join(pieces [][]byte, limit int64) []byte {
	var total int64
	for _, p := range pieces {
		total += int64(len(p))
	}
	total = min(total, limit)
	if len(pieces) == 1 {
		return pieces[0][:total:total]
	}
	body := make([]byte, 0, total)
	for _, p := range pieces {
		body = append(body, p[:min(int64(len(p)), total-int64(len(body)))]...)
	}
	return body
}
