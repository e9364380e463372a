package crawl

import (
	"bytes"
	"hash/maphash"
	"strings"
	"sync"

	"arborist/crawl/internal/weburl"
)

// looks is what a page shows whatever its address: hashes by which a site that
// answers everything with one page is known (soft404.go). Both are without the
// page's own path, which pages that say "/x was not found" repeat.
type looks struct {
	page uint64 // of the other bytes and links

	// skeleton is without words of the path, without tokens that look made for
	// one answer, and without links within the directory: what is made up for
	// each address anew. Links that lead elsewhere are in it. A page whose links
	// are all that it says has them all in it.
	skeleton uint64
}

// looks gives the looks of an HTML page. It is safe for concurrent use.
func (t *twins) looks(u weburl.URL, body []byte, links []weburl.URL) looks {
	var page maphash.Hash
	page.SetSeed(t.seed)
	rest := body
	for {
		before, after, found := cutPath(rest, u.Path())
		page.Write(before)
		if rest = after; !found {
			break
		}
	}
	closely := t.sizes.alike(wideFolderOf(u), len(body))
	var s skeleton
	if closely {
		s.begin(t.seed, u)
		s.read(withoutAll(body, u.Path()))
	}
	inside := u.String()[:strings.LastIndexByte(u.Origin()+u.Path(), '/')+1]
	for _, l := range links {
		if l == u {
			continue
		}
		page.WriteByte(0)
		page.WriteString(l.String())
		if closely && (s.words < fewWords || !strings.HasPrefix(l.String(), inside)) {
			s.hash.WriteByte(0)
			s.hash.WriteString(l.String())
		}
	}
	if !closely {
		return looks{page.Sum64(), page.Sum64()}
	}
	return looks{page.Sum64(), s.hash.Sum64()}
}

// sizes knows whether the pages of a folder are of about one size. Those that
// are not need no closer look, which takes longer than finding links does. It is
// safe for concurrent use.
type sizes struct {
	mu      sync.Mutex
	folders map[string]*sameSize
}

type sameSize struct{ last, row int }

// alike notes a page and reports whether it is one of many in a row that differ
// by an eighth at most, each from the one before.
func (s *sizes) alike(folder string, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.folders[folder]
	if f == nil {
		if len(s.folders) >= maxFolders {
			clear(s.folders)
		}
		f = &sameSize{last: size}
		s.folders[folder] = f
	}
	if 8*max(size-f.last, f.last-size) > max(size, f.last) {
		f.row = 0
	}
	f.last = size
	f.row++
	return f.row >= softRow
}

// fewWords is how many words outside of links a page has at least that says
// anything by itself, as "page not found" does.
const fewWords = 3

// cutPath cuts a body around the page's own path.
func cutPath(body []byte, path string) (before, after []byte, found bool) {
	if len(path) < 3 { // found everywhere, by chance
		return body, nil, false
	}
	at := rarest(path)
	for i := at; i+len(path)-at <= len(body); i++ {
		next := bytes.IndexByte(body[i:], path[at])
		if next < 0 {
			break
		}
		i += next
		if from, end := i-at, i-at+len(path); end <= len(body) && string(body[from:end]) == path {
			return body[:from], body[end:], true
		}
	}
	return body, nil, false
}

// rarest gives the place of a byte of a path that pages have few of: looking for it
// stops less often than looking for the path's first does.
func rarest(path string) int {
	for i := len(path) - 1; i >= 0; i-- {
		if c := path[i]; c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("jkqvwxyz%_~", c) >= 0 {
			return i
		}
	}
	return len(path) - 1
}

// withoutAll gives a body without the page's own path.
func withoutAll(body []byte, path string) (without []byte) {
	for {
		before, after, found := cutPath(body, path)
		if without = append(without, before...); !found {
			return without
		}
		body = after
	}
}

// A skeleton is the hash of what stays of a page.
type skeleton struct {
	hash  maphash.Hash
	own   map[string]bool // words of the page's address, in lower case
	words int             // outside of links

	lengths uint64 // of those words, a bit each: most others need no look
}

// begin makes it ready for a page.
func (s *skeleton) begin(seed maphash.Seed, u weburl.URL) {
	s.hash.SetSeed(seed)
	s.own = map[string]bool{}
	eachWord([]byte(u.Target()), func(w []byte) {
		s.own[string(bytes.ToLower(w))] = true
		s.lengths |= 1 << min(len(w), 63)
	})
}

// isOwn reports whether a word is in the page's address. One of 63 bytes or more
// is not looked for.
func (s *skeleton) isOwn(word []byte) bool {
	var lower [63]byte
	if len(word) >= len(lower) || s.lengths&(1<<len(word)) == 0 {
		return false
	}
	for i, c := range word {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	return s.own[string(lower[:len(word)])]
}

// read takes in markup and text. Links are told apart by [twins.looks], so their
// tags and what stands in them are passed over.
func (s *skeleton) read(body []byte) {
	inLink := false
	for len(body) > 0 {
		end := bytes.IndexByte(body, '<')
		if end < 0 {
			end = len(body)
		}
		if !inLink {
			s.text(body[:end])
		}
		body = body[end:]
		end = bytes.IndexByte(body, '>') + 1
		if end == 0 {
			end = len(body)
		}
		switch tag := body[:end]; {
		case isTag(tag, "<a"):
			inLink = true
		case isTag(tag, "</a"):
			inLink = false
		case !inLink:
			s.tag(tag)
		}
		body = body[end:]
	}
}

func isTag(tag []byte, name string) bool {
	return len(tag) > len(name) && bytes.EqualFold(tag[:len(name)], []byte(name)) && bytes.IndexByte([]byte(" \t\r\n\f/>"), tag[len(name)]) >= 0
}

// text takes in the words between tags.
func (s *skeleton) text(b []byte) {
	eachWord(b, func(w []byte) {
		s.words++
		if !random(w) && !s.isOwn(w) {
			s.hash.Write(w)
			s.hash.WriteByte(' ')
		}
	})
}

// tag takes in a tag. What it names, such as a picture, counts even where the
// address has that word as well.
func (s *skeleton) tag(b []byte) {
	eachWord(b, func(w []byte) {
		if !random(w) {
			s.hash.Write(w)
			s.hash.WriteByte(' ')
		}
	})
	s.hash.WriteByte('>')
}

// eachWord calls fn with the runs of letters and digits, and of what encodings
// of random numbers have beside them. Bytes over 0x7f are letters.
func eachWord(b []byte, fn func(word []byte)) {
	for len(b) > 0 {
		n := 0
		for n < len(b) && wordByte(b[n]) {
			n++
		}
		if n > 0 {
			fn(b[:n])
		}
		b = b[min(n+1, len(b)):]
	}
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 || c == '+' || c == '_' || c == '-'
}

// random reports whether a word looks like a number made for one answer: long,
// with digits among its letters, or of digits and letters in both cases.
func random(word []byte) bool {
	var digit, lower, upper bool
	for _, c := range word {
		digit = digit || c >= '0' && c <= '9'
		lower = lower || c >= 'a' && c <= 'z'
		upper = upper || c >= 'A' && c <= 'Z'
	}
	return digit && (len(word) >= 16 && (lower || upper) || len(word) >= 8 && lower && upper)
}
