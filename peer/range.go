package peer

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// A window is the part of a resource that a request asks for: n bytes from from
// on. Zero: all of it.
type window struct{ from, n int64 }

// windowOf reads the Range header of a request for a resource of so many bytes
// (RFC 9110). It knows one range of bytes; of anything else the whole is sent,
// which a server may always do. A range behind the end is refused.
func windowOf(r *http.Request, size int64) (window, error) {
	spec, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes=")
	first, last, isRange := strings.Cut(spec, "-")
	if !ok || !isRange || len(r.Header.Values("Range")) > 1 || r.Header.Get("If-Range") != "" {
		return window{}, nil
	}
	if first == "" { // the last bytes
		n, err := parseOffset(last)
		switch {
		case err != nil:
			return window{}, nil
		case n == 0:
			return window{}, errRange
		}
		n = min(n, size)
		return window{size - n, n}, nil
	}
	from, err := parseOffset(first)
	if err != nil {
		return window{}, nil
	}
	to := size - 1
	if last != "" {
		if to, err = parseOffset(last); err != nil || to < from {
			return window{}, nil
		}
	}
	if from >= size {
		return window{}, errRange
	}
	return window{from, min(to, size-1) - from + 1}, nil
}

// parseOffset reads a number of digits alone.
func parseOffset(s string) (int64, error) {
	if strings.Trim(s, "0123456789") != "" {
		return 0, errors.New("not a number")
	}
	return strconv.ParseInt(s, 10, 64)
}

// cut makes out send only what the request asks for of a resource of so many
// bytes. It comes before the head, and not with a content coding.
func (out *reply) cut(size int64) (err error) {
	if out.r != nil {
		out.window, err = windowOf(out.r, size)
		out.total = size
	}
	return err
}

// skipped notes that n bytes would be written which are outside of the window,
// and reports whether they are.
func (out *reply) skipped(n int64) bool {
	if out.window.n == 0 || out.at+n > out.window.from && out.at < out.window.from+out.window.n {
		return false
	}
	out.at += n
	return true
}

// inside returns the part of p that is in the window, where p is what would be
// written next.
func (out *reply) inside(p []byte) []byte {
	if out.window.n == 0 {
		return p
	}
	start := min(max(out.window.from-out.at, 0), int64(len(p)))
	end := min(max(out.window.from+out.window.n-out.at, 0), int64(len(p)))
	out.at += int64(len(p))
	return p[start:max(start, end)]
}

// ended reports whether the window has been sent.
func (out *reply) ended() bool { return out.window.n > 0 && out.at >= out.window.from+out.window.n }
