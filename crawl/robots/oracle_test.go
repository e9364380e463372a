package robots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jimsmart/grobotstxt"
)

// Google's parser, ported to Go, is the oracle: on random files built from
// the pieces that matter the two must agree. Left out is where Google departs
// from the RFC or we from Google, each on purpose: a rule for /index.html
// covers its folder there; a literal $ or * and encoded delimiters in a query
// have one spelling here. And the port breaks the digits of escapes (%2f, %E3)
// in a pattern where it has anything to re-encode, so a pattern here has either
// such escapes in upper case or raw octets.
func TestRandomFilesAgreeWithGooglesParser(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9309, 1))
	denied := 0
	for round := range 10000 {
		file := randomFile(rnd)
		r := Parse([]byte(file), bot)
		for range 4 {
			path := randomPath(rnd)
			want := grobotstxt.AgentAllowed(file, bot, "http://example.org"+path)
			if got := r.Allowed(path); got != want {
				t.Fatalf("round %d: %s allowed %v, the oracle says %v, file:\n%s", round, path, got, want, file)
			}
			if !want {
				denied++
			}
		}
	}
	if denied < 4000 {
		t.Errorf("only %d of 40000 decisions were denials: the files test too little", denied)
	}
}

func pick(rnd *rand.Rand, of ...string) string { return of[rnd.IntN(len(of))] }

func randomFile(rnd *rand.Rand) string {
	var b strings.Builder
	if rnd.IntN(10) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	eol := pick(rnd, "\n", "\r\n", "\r")
	for range rnd.IntN(12) {
		sep := pick(rnd, ":", ": ", " : ", ":\t", " ")
		switch rnd.IntN(12) {
		case 0, 1, 2:
			b.WriteString(pick(rnd, "User-agent", "user-AGENT", "useragent") + sep +
				pick(rnd, "*", "*", "Arborist", "arborist", "Arborist/2.0", "Arboristic", "other", "* x", "*x"))
		case 3, 4, 5, 6, 7:
			b.WriteString(pick(rnd, "Disallow", "disallow", "Dissallow") + sep + randomPattern(rnd))
		case 8, 9:
			b.WriteString(pick(rnd, "Allow", "ALLOW") + sep + randomPattern(rnd))
		case 10:
			b.WriteString(pick(rnd, "# comment", "", "Sitemap: http://e/", "Crawl-delay: 2", "nonsense", "Disallow", ": /"))
		case 11:
			b.WriteString("  Disallow" + sep + randomPattern(rnd) + " # why")
		}
		b.WriteString(eol)
	}
	return b.String()
}

func randomPattern(rnd *rand.Rand) string {
	var b strings.Builder
	if rnd.IntN(15) > 0 {
		b.WriteByte('/')
	}
	escapes := []string{"%E3", "%2F", "%20"}
	if rnd.IntN(3) == 0 {
		escapes = []string{"ü", "ü", "\xe3"}
	}
	for range rnd.IntN(6) {
		b.WriteString(pick(rnd, append(escapes, "a", "b", "/", "*", "%41", "?", "=", ".")...))
	}
	if rnd.IntN(6) == 0 {
		b.WriteByte('$')
	}
	// Google's parser does not decode unreserved characters.
	return noEncodedQuery(strings.ReplaceAll(b.String(), "%41", "A"))
}

func randomPath(rnd *rand.Rand) string {
	var b strings.Builder
	b.WriteByte('/')
	for range rnd.IntN(8) {
		// As a URL parser hands them over: encoded, upper case.
		b.WriteString(pick(rnd, "a", "b", "a", "b", "/", "A", "%E3", "%C3%BC", "?", "=", ".", "%20", "%2F"))
	}
	return noEncodedQuery(b.String())
}

// noEncodedQuery takes encoded delimiters out of a query: the difference
// named above.
func noEncodedQuery(path string) string {
	head, query, _ := strings.Cut(path, "?")
	if len(head) == len(path) {
		return path
	}
	return head + "?" + strings.ReplaceAll(query, "%2F", "")
}

// The pattern matcher against the plainest one there is, which tries
// everything.
func FuzzMatchingAgreesWithTryingEverything(f *testing.F) {
	for _, s := range [][2]string{
		{"/a*b$", "/aXb"}, {"/**a*", "/bba"}, {"*$", "/"}, {"/aa*aa$", "/aaa"}, {"/%2a*", "/*b"}, {"/?x=%2F*", "/?x=/y"}, {"/a$b", "/a$b"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, value, path string) {
		if len(value) > 24 || len(path) > 24 || value == "" {
			return // trying everything is exponential
		}
		p := compile(value)
		path = normalize("/"+path, false)
		want := tryAll(strings.TrimSuffix(p.text, "$"), path, p.end)
		if got := p.matches(path); got != want {
			t.Errorf("pattern %q (%q) on %q: %v, want %v", value, p.text, path, got, want)
		}
		if again := normalize(path, false); again != path {
			t.Errorf("normal form of %q is %q", path, again)
		}
	})
}

func tryAll(pattern, path string, end bool) bool {
	switch {
	case pattern == "":
		return path == "" || !end
	case pattern[0] == '*':
		for i := range len(path) + 1 {
			if tryAll(pattern[1:], path[i:], end) {
				return true
			}
		}
		return false
	}
	return path != "" && path[0] == pattern[0] && tryAll(pattern[1:], path[1:], end)
}

func FuzzParseKeepsItsPromises(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a\nCrawl-delay: 3", "/a")
	f.Add("\xef\xbb\xbfuser-agent: arborist\r\nallow: /%61*$\r\rdisallow /", "/%zz?%3f")
	f.Add("User-agent:*\nDisallow:/\x00\xff", "?")
	f.Fuzz(func(t *testing.T, file, path string) {
		r := Parse([]byte(file), bot)
		if !r.Allowed("/robots.txt") {
			t.Error("robots.txt denied")
		}
		ok, line := r.Match(path)
		if !ok && !strings.HasPrefix(line, "Disallow: ") {
			t.Errorf("denied by %q", line)
		}
		if d, has := r.CrawlDelay(); d < 0 || d > MaxDelay || d > 0 && !has {
			t.Errorf("delay %v %v", d, has)
		}
		// Comments, blank lines and other fields change nothing.
		noisy := strings.ReplaceAll(file, "\n", "\n# x\n\nSitemap: http://e/\n")
		if ok2, line2 := Parse([]byte(noisy), bot).Match(path); len(noisy) < MaxSize && (ok2 != ok || line2 != line) {
			t.Errorf("noise changes the verdict: %v %q, %v %q", ok, line, ok2, line2)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	var file strings.Builder
	file.WriteString("User-agent: *\n")
	for i := range 100 {
		fmt.Fprintf(&file, "Disallow: /section%d/*/private$\n", i)
	}
	r := Parse([]byte(file.String()), bot)
	for b.Loop() {
		r.Allowed("/section50/some/long/path/to/a/page.html?with=query")
	}
}
