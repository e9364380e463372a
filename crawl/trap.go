package crawl

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"arborist/crawl/internal/weburl"
)

// Trap budgets end what has no end of its own: calendars, session numbers,
// combinations of filters, paths that grow by themselves.
//
// Addresses are grouped by pattern: numbers and long hexadecimal words in the
// path stand for one another, and so do the values of query parameters. The
// budget of variable patterns, those with such a place, is generous
// where pages are reached as in a manual or an archive, in a few steps from
// an index, and small where one variable address leads to the next and that
// one to another, which is how a calendar is walked. The shortest way counts,
// as pages are visited in breadth.
//
// Addresses of words alone are grouped by the folder at the top of the site, and
// have a budget where they are many links from the seed: a site that makes up
// words is endless as well, and a sound one is seldom that deep and that wide.
//
// Two more kinds end sooner: a directory that answers every address with the
// same page (soft404.go), and one address under session after session
// (session.go).
const (
	defaultPatternBudget = 1000 // pages of a pattern at the end of a long chain
	queryBudgets         = 10   // times that: pages of a pattern with a query
	pathBudgets          = 50   // times that: pages of a pattern without one
	wordBudgets          = 10   // times that: pages of words alone, in one folder, far from the seed

	longChain    = 16 // variable addresses in a row that are nothing unusual; links from the seed
	maxSegments  = 32 // of a path
	maxRepeats   = 4  // of one segment in a path
	maxTrapNotes = 100

	maxPatterns = 1 << 16 // that are remembered at a time
)

// A trap counts the requests spent on one pattern.
type trap struct {
	spent, deep, refused int
}

type traps struct {
	budget   int
	patterns map[string]*trap
	folders  map[string]*folder // see soft404.go
	sessions map[uint64]int     // see session.go
	seed     maphash.Seed       // of their keys
}

func newTraps(budget int) *traps {
	return &traps{budget: budget, patterns: map[string]*trap{}, folders: map[string]*folder{}, sessions: map[uint64]int{}, seed: maphash.MakeSeed()}
}

// charge spends one request on an address, found at the end of a chain of
// variable ones and so many links from the seed. It says why it must not be
// spent, empty where it may.
func (t *traps) charge(u weburl.URL, chain, depth int) string {
	if reason := endless(u); reason != "" {
		return reason
	}
	if reason := t.sameFolder(u); reason != "" {
		return reason
	}
	if !variable(u) {
		if depth <= longChain {
			return ""
		}
		return t.spend(topFolder(u)+"*", t.budget*wordBudgets, false)
	}
	name := pattern(u)
	if reason := t.sameSession(u); reason != "" {
		t.pattern(name).refused++
		return reason
	}
	wide := t.budget * pathBudgets
	if u.Query() != "" {
		wide = t.budget * queryBudgets
	}
	return t.spend(name, wide, chain > longChain)
}

// topFolder gives the folder at the top of the site that an address is in.
func topFolder(u weburl.URL) string {
	first, _, below := strings.Cut(u.Path()[1:], "/")
	if !below {
		return u.Origin() + "/"
	}
	return u.Origin() + "/" + first + "/"
}

// pattern gives the count of a pattern.
func (t *traps) pattern(name string) *trap {
	p := t.patterns[name]
	if p == nil {
		if len(t.patterns) >= maxPatterns {
			t.forgetPatterns()
		}
		p = &trap{}
		t.patterns[name] = p
	}
	return p
}

// forgetPatterns makes room: those are forgotten that spent the least, but none
// that has something to report, unless that is all there is.
func (t *traps) forgetPatterns() {
	for least := 1; len(t.patterns) > maxPatterns/2; least *= 4 {
		for name, p := range t.patterns {
			if p.spent <= least && (p.refused == 0 || least > t.budget*pathBudgets) {
				delete(t.patterns, name)
			}
		}
	}
}

// spend spends one of wide requests on a pattern, of which budget many may be
// deep.
func (t *traps) spend(name string, wide int, deep bool) string {
	p := t.pattern(name)
	if p.spent >= wide || deep && p.deep >= t.budget {
		p.refused++
		return fmt.Sprintf("trap budget: %d pages like %s were fetched", p.spent, name)
	}
	p.spent++
	if deep {
		p.deep++
	}
	return ""
}

// notes lists the patterns that ran out of budget, the worst first.
func (t *traps) notes() []Trap {
	var out []Trap
	for name, p := range t.patterns {
		if p.refused > 0 {
			out = append(out, Trap{Pattern: name, Pages: p.spent, Refused: p.refused})
		}
	}
	for name, f := range t.folders {
		if f.refused > 0 {
			out = append(out, Trap{Pattern: name, Pages: f.row, Refused: f.refused})
		}
	}
	slices.SortFunc(out, func(a, b Trap) int {
		if a.Refused != b.Refused {
			return b.Refused - a.Refused
		}
		return strings.Compare(a.Pattern, b.Pattern)
	})
	return out[:min(len(out), maxTrapNotes)]
}

// chain gives the chain of an address that was found on a page.
func chain(page weburl.URL, pageChain int, link weburl.URL) int {
	if !variable(page) || !variable(link) {
		return 0
	}
	return pageChain + 1
}

// variable reports whether an address has a place that its pattern leaves open.
func variable(u weburl.URL) bool {
	if u.Query() != "" {
		return true
	}
	path := u.Path()
	if strings.ContainsAny(path, ";0123456789") {
		return true
	}
	for segment := range strings.SplitSeq(path, "/") {
		if hexWord(segment) {
			return true
		}
	}
	return false
}

// endless recognises a path that grows by itself: a relative link below a page
// that answers to every address.
func endless(u weburl.URL) string {
	segments := strings.Split(u.Path(), "/")
	if len(segments)-1 > maxSegments {
		return fmt.Sprintf("trap: the path has over %d segments", maxSegments)
	}
	counts := map[string]int{}
	for _, s := range segments {
		// Short ones repeat in sound paths as well: "/1/1/0/1/1/1".
		if counts[s]++; len(s) > 1 && counts[s] > maxRepeats {
			return fmt.Sprintf("trap: %.40q is in the path over %d times", s, maxRepeats)
		}
	}
	return ""
}

// pattern gives the pattern of an address.
func pattern(u weburl.URL) string {
	var b strings.Builder
	b.WriteString(u.Origin())
	for i, segment := range strings.Split(u.Path(), "/") {
		if i > 0 {
			b.WriteByte('/')
		}
		segment, _, parameters := strings.Cut(segment, ";")
		generalise(&b, segment)
		if parameters {
			b.WriteByte(';')
		}
	}
	if u.Query() == "" {
		return b.String()
	}
	var names []string
	for part := range strings.SplitSeq(u.Query(), "&") {
		name, _, _ := strings.Cut(part, "=")
		var n strings.Builder
		generalise(&n, name)
		names = append(names, n.String())
	}
	slices.Sort(names)
	names = slices.Compact(names)
	b.WriteByte('?')
	b.WriteString(strings.Join(names[:min(len(names), 8)], "&"))
	return b.String()
}

// generalise writes a word with its numbers replaced by "#".
func generalise(b *strings.Builder, word string) {
	if hexWord(word) {
		b.WriteByte('#')
		return
	}
	digits := false
	for i := range len(word) {
		c := word[i]
		digit := c >= '0' && c <= '9'
		switch {
		case !digit:
			b.WriteByte(c)
		case !digits:
			b.WriteByte('#')
		}
		digits = digit
	}
}

// hexWord recognises what names a thing by a hash or a random number.
func hexWord(word string) bool {
	return len(word) >= 16 && strings.Trim(word, "0123456789abcdefABCDEF-") == ""
}
