package robots

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const bot = "Arborist"

func TestGroupOfOurTokenElseOfEverybody(t *testing.T) {
	for _, c := range []struct {
		name, file string
		denied     string // paths, space apart
		allowed    string
	}{
		{"empty file", "", "", "/ /a"},
		{"no group", "Disallow: /", "", "/"},
		{"everybody", "User-agent: *\nDisallow: /a", "/a /ab /a/b", "/ /b"},
		{"ours wins", "User-agent: *\nDisallow: /\n\nUser-agent: arborist\nDisallow: /a", "/a", "/b"},
		{"ours first", "User-agent: ARBORIST\nDisallow: /a\n\nUser-agent: *\nDisallow: /", "/a", "/b"},
		{"ours empty", "User-agent: Arborist\nDisallow:\n\nUser-agent: *\nDisallow: /", "", "/"},
		{"ours without any line", "User-agent: *\nDisallow: /\n\nUser-agent: Arborist", "", "/"},
		{"others", "User-agent: Arbor\nDisallow: /\nUser-agent: xArborist\nDisallow: /", "", "/"},
		{"prefix is another token", "User-agent: Arboristic\nDisallow: /", "", "/"},
		{"version after the token", "User-agent: Arborist/1.0\nDisallow: /a", "/a", "/b"},
		{"several agents, one group", "User-agent: x\nUser-agent: Arborist\nUser-agent: y\nDisallow: /a", "/a", "/b"},
		{"groups of a token are merged", "User-agent: Arborist\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n\nUser-agent: arborist\nDisallow: /c", "/a /c", "/b"},
		{"groups of everybody are merged", "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: *\nDisallow: /c", "/a /c", "/b"},
		{"blank lines do not end a group", "User-agent: *\n\n\nDisallow: /a\n\nDisallow: /b", "/a /b", "/c"},
		{"an agent line after a rule does", "User-agent: x\nDisallow: /a\nUser-agent: *\nDisallow: /b", "/b", "/a"},
		{"unknown lines do not", "User-agent: x\nSitemap: http://e/s\nHost: e\nUser-agent: *\nNoindex: /n\nDisallow: /b", "/b", "/n"},
		{"an unknown line between agents", "User-agent: Arborist\nCrawl-delay: 3\nUser-agent: x\nDisallow: /a", "/a", "/b"},
		{"star with a comment word", "User-agent: * everybody\nDisallow: /a", "/a", "/b"},
		{"star with a suffix is no star", "User-agent: *bot\nDisallow: /", "", "/"},
		{"rules before any agent", "Disallow: /x\nUser-agent: *\nDisallow: /a", "/a", "/x"},
		{"spaces and tabs", " \t User-Agent \t : \t *  \n\tDISALLOW\t:\t/a\t", "/a", "/b"},
		{"comments", "# a\nUser-agent: * # all\nDisallow: /a # why\n#Disallow: /b", "/a", "/b"},
		{"no colon", "User-agent *\nDisallow /a", "/a", "/b"},
		{"no colon, three words", "User-agent: *\nDisallow /a /b", "", "/a /b"},
		{"misspelt", "Useragent: *\nDissallow: /a\nDisalow: /b\nDiasllow: /c", "/a /b /c", "/d"},
		{"not misspelt like that", "User-agent: *\nDis allow: /a\nAlow: /b", "", "/a"},
		{"CRLF", "User-agent: *\r\nDisallow: /a\r\n\r\nDisallow: /b\r\n", "/a /b", "/c"},
		{"CR", "User-agent: *\rDisallow: /a\r\rDisallow: /b", "/a /b", "/c"},
		{"BOM", "\xef\xbb\xbfUser-agent: *\nDisallow: /a", "/a", "/b"},
		{"HTML", "<!DOCTYPE html><html><body>User-agent: *<br>Disallow: /</body></html>", "", "/"},
		{"binary", "\x00\x01User-agent: *\x00\nDisallow: /\n", "", "/"},
		{"the file itself", "User-agent: *\nDisallow: /", "/ /robots.txt?a /robots.txtx", "/robots.txt"},
	} {
		check(t, c.name, c.file, c.denied, c.allowed)
	}
}

func check(t *testing.T, name, file, denied, allowed string) {
	t.Helper()
	r := Parse([]byte(file), bot)
	for _, p := range strings.Fields(denied) {
		if ok, line := r.Match(p); ok || line == "" {
			t.Errorf("%s: %s is allowed (%q)", name, p, line)
		}
	}
	for _, p := range strings.Fields(allowed) {
		if ok, line := r.Match(p); !ok {
			t.Errorf("%s: %s is denied by %q", name, p, line)
		}
	}
}

func TestLongestMatchAndAllowOnTies(t *testing.T) {
	rule := func(lines ...string) string { return "User-agent: *\n" + strings.Join(lines, "\n") }
	for _, c := range []struct{ name, file, denied, allowed string }{
		{"longer allow", rule("Disallow: /a", "Allow: /a/b"), "/a /a/c", "/a/b /a/bc"},
		{"longer disallow", rule("Allow: /a", "Disallow: /a/b"), "/a/b", "/a /a/c"},
		{"order does not count", rule("Allow: /a/b", "Disallow: /a"), "/a/c", "/a/b"},
		{"tie", rule("Disallow: /a", "Allow: /a"), "", "/a"},
		{"tie, other order", rule("Allow: /a", "Disallow: /a"), "", "/a"},
		{"RFC 9309 5.2", rule("Allow: /example/page/", "Disallow: /example/page/disallowed.gif"), "/example/page/disallowed.gif", "/example/page/ /example/page/x"},
		{"wildcards count as octets", rule("Allow: /page", "Disallow: /*.htm"), "/page.htm", "/page /x.ht"},
		{"anchor counts", rule("Allow: /$", "Disallow: /"), "/page", "/"},
		{"tie of a wildcard", rule("Allow: /p*", "Disallow: /p*"), "", "/pa"},
		{"nothing matches", rule("Disallow: /x"), "", "/ /y"},
		{"an empty allow is no rule", rule("Allow:", "Disallow: /a"), "/a", "/b"},
		{"case counts in paths", rule("Disallow: /Aa"), "/Aa", "/aa /AA"},
		{"a rule without a slash", rule("Disallow: a"), "", "/a a"},
	} {
		check(t, c.name, c.file, c.denied, c.allowed)
	}
}

func TestWildcardAndAnchor(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"/*", "/ /a", ""},
		{"*", "/ /a", ""},
		{"/fish", "/fish /fish.html /fish/salmon /fishheads /fish?id=1", "/Fish /catfish /?id=fish"},
		{"/fish*", "/fish /fish.html /fishheads/yummy.html", "/Fish /desert/fish"},
		{"/fish/", "/fish/ /fish/?id=1 /fish/salmon.htm", "/fish /fish.html"},
		{"/*.php", "/index.php /a/b.php?x=1 /a.php/b.html /a.php5", "/ /a.PHP"},
		{"/*.php$", "/a.php /b/c.php", "/a.php?x /a.php/ /a.php5"},
		{"/fish*.php", "/fish.php /fishheads/catfish.php?p=1", "/Fish.PHP"},
		{"/a$", "/a", "/ab /a/"},
		{"/a*b*c$", "/abc /aXbYc /abcbc", "/ab /abcd"},
		{"/a**b", "/ab /axb", "/a"},
		{"/a*$", "/a /ab", "/b"},
		{"/a*b$", "/ab /aab /abb", "/aba"},
		{"/aa*aa$", "/aaaa /aaXaa", "/aaa"},
		{"/$", "/", "/a"},
		{"$", "", "/ /a"},
		{"/a$b", "/a$b /a$bc /a%24b", "/a /ab"},
		{"/a%24", "/a$ /a$b /a%24", "/a"},
		{"/a%2A", "/a* /a%2a /a*b", "/a /ab"},
		{"/a*%2A$", "/a* /ab*", "/a /ab"},
		{"/*?", "/a? /?b", "/a"},
		{"/*?*id=", "/a?id=1 /a?b&id=2", "/aid=1"},
	} {
		name := "Disallow: " + c.pattern
		check(t, name, "User-agent: *\n"+name, c.yes, c.no)
	}
}

// The table of RFC 9309 section 2.2.2 and what follows from its rule.
func TestPercentEncodingIsOneSpelling(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"/foo/bar?baz=quz", "/foo/bar?baz=quz", "/foo/bar?baz=qux"},
		{"/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar /foo/bar?baz=https://foo.bar /foo/bar?baz=https%3a%2f%2Ffoo.bar", "/foo/bar%3Fbaz=https://foo.bar"},
		{"/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar /foo/bar?baz=https%3A%2F%2Ffoo.bar", ""},
		{"/foo/bar/ツ", "/foo/bar/%E3%83%84 /foo/bar/ツ /foo/bar/%e3%83%84", "/foo/bar/%E3%83%85"},
		{"/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84 /foo/bar/ツ", ""},
		{"/foo/bar/%62%61%7A", "/foo/bar/baz /foo/bar/%62%61%7A /foo/bar/b%61z", "/foo/bar/BAZ"},
		{"/a%2fb", "/a%2Fb /a%2fb", "/a/b"},
		{"/a/b", "/a/b", "/a%2Fb"},
		{"/a%7eb", "/a~b /a%7Eb", ""},
		{"/~user", "/%7Euser /~user", ""},
		{"/a b", "/a%20b", "/a+b"},
		{"/a%zz", "/a%zz /a%25zz", "/azz"},
		{"/a%", "/a% /a%25 /a%x", "/a"},
		{"/q?a%26b", "/q?a%26b", "/q?a&b"},
		{"/*%2F", "/a%2F /x?y=%2F", "/a/"},
		{"/*//", "/x?u=http:// /x?u=http:%2F%2F /a//b", "/a/b"},
		{"/x*?u=%2Fa", "/x?u=/a /xy?u=%2Fa", "/x?u=a"},
		{"/ü", "/%C3%BC /ü", "/u"},
		{"/\xff", "/%FF", "/%C3%BF"},
	} {
		// Written as fields, a path with a space is not needed here.
		check(t, "Disallow: "+c.pattern, "User-agent: *\nDisallow: "+c.pattern, c.yes, c.no)
	}
}

func TestCrawlDelayIsReadAndCapped(t *testing.T) {
	for _, c := range []struct {
		file string
		want time.Duration
		has  bool
	}{
		{"", 0, false},
		{"User-agent: *\nCrawl-delay: 5", 5 * time.Second, true},
		{"User-agent: *\ncrawl-DELAY : 0.5", 500 * time.Millisecond, true},
		{"User-agent: *\nCrawl-delay: 0", 0, true},
		{"User-agent: *\nCrawl-delay: 86400", MaxDelay, true},
		{"User-agent: *\nCrawl-delay: 1e300", MaxDelay, true},
		{"User-agent: *\nCrawl-delay: +Inf", MaxDelay, true},
		{"User-agent: *\nCrawl-delay: NaN", 0, false},
		{"User-agent: *\nCrawl-delay: -1", 0, false},
		{"User-agent: *\nCrawl-delay: soon", 0, false},
		{"User-agent: *\nCrawl-delay:", 0, false},
		{"Crawl-delay: 5", 0, false},
		{"User-agent: x\nCrawl-delay: 5", 0, false},
		{"User-agent: *\nCrawl-delay: 9\n\nUser-agent: Arborist\nDisallow: /a", 0, false},
		{"User-agent: *\nCrawl-delay: 9\n\nUser-agent: Arborist\nCrawl-delay: 1", time.Second, true},
		{"User-agent: Arborist\nCrawl-delay: 1\nUser-agent: Arborist\nDisallow: /\nCrawl-delay: 4", 4 * time.Second, true},
		// A group of nothing but a delay does not slow the next one down.
		{"User-agent: slow\nCrawl-delay: 300\n\nUser-agent: *\nDisallow: /x", 0, false},
		{"User-agent: *\nCrawl-delay: 2\n\nUser-agent: slow\nCrawl-delay: 300", 2 * time.Second, true},
	} {
		got, has := Parse([]byte(c.file), bot).CrawlDelay()
		if got != c.want || has != c.has {
			t.Errorf("%q: %v, %v; want %v, %v", c.file, got, has, c.want, c.has)
		}
	}
}

// Threat 25.
func TestOnlyTheFirst500KiBCount(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\nDisallow: /early\n")
	for b.Len() < MaxSize-100 {
		b.WriteString("# padding to the limit\n")
	}
	line := "Disallow: /late-and-long\n"
	// The limit falls inside the line: half of it would deny /late.
	file := b.String() + strings.Repeat("#", MaxSize-b.Len()-17) + "\n" + line
	if at := strings.LastIndex(file, "Disallow"); at+16 != MaxSize {
		t.Fatalf("the line starts %d bytes before the limit", MaxSize-at)
	}
	check(t, "cut in a line", file, "/early", "/late /late-and-long /la")
	check(t, "at the limit", file[:MaxSize-len(line)-1]+"\n"+line, "/early /late-and-long", "/late")
	huge := file + strings.Repeat("Disallow: /x\n", 1<<20)
	check(t, "beyond", huge, "/early", "/x")
}

func TestDecidingTakesLinearTime(t *testing.T) {
	path := "/" + strings.Repeat("a", 8<<10)
	// each fills the file with different rules, so that none is dropped as a
	// repetition.
	each := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < MaxSize-5000; i++ {
			fmt.Fprintf(&b, "Disallow: "+format+"\n", i)
		}
		return b.String()
	}
	for name, lines := range map[string]string{
		"many stars in one rule":   "Disallow: /" + strings.Repeat("*a", MaxSize/2-100) + "*b\n",
		"only stars":               "Disallow: /" + strings.Repeat("*", MaxSize-100) + "b$\n",
		"many rules of stars":      each("/*a*a*a*a*a*a*a*a*a*ab%d"),
		"parts that nearly match":  each("/*aaab%d"),
		"long parts that nearly":   each("/*" + strings.Repeat("a", 2000) + "b*%d"),
		"many short literal rules": each("/b%d"),
	} {
		start := time.Now()
		r := Parse([]byte("User-agent: *\n"+lines), bot)
		parsed := time.Since(start)
		start = time.Now()
		if !r.Allowed(path) {
			t.Errorf("%s: denied", name)
		}
		decided := time.Since(start)
		t.Logf("%-26s %d rules, parse %v, decide %v", name, len(r.rules), parsed, decided)
		// Backtracking would take years; the bound is loose for slow machines.
		if decided > time.Minute || parsed > time.Minute {
			t.Errorf("%s: parse %v, decide %v", name, parsed, decided)
		}
	}
}

func TestTokenIsTheStartOfAUserAgent(t *testing.T) {
	for in, want := range map[string]string{
		"Arborist": "Arborist", "Arborist/1.2 (+https://e.org)": "Arborist", "My-Bot_x 3": "My-Bot_x", "": "", "1bot": "", "Ünder": "",
	} {
		if got := Token(in); got != want {
			t.Errorf("Token(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDenyAllAndAllowAll(t *testing.T) {
	for _, p := range []string{"/", "/a?b", ""} {
		if DenyAll().Allowed(p) || !AllowAll().Allowed(p) {
			t.Errorf("%q: deny-all allows or allow-all denies", p)
		}
	}
	if !DenyAll().Allowed("/robots.txt") {
		t.Error("robots.txt itself is always allowed")
	}
}

func TestMatchNamesTheLineThatDecided(t *testing.T) {
	r := Parse([]byte("User-agent: *\nDisallow: /*/Private b$\nAllow: /x"), bot)
	for path, want := range map[string]string{
		"/a/Private%20b": "false Disallow: /*/Private%20b$", "/xy": "true Allow: /x", "/": "true ",
	} {
		ok, line := r.Match(path)
		if got := fmt.Sprint(ok, " ", line); got != want {
			t.Errorf("Match(%s) = %s, want %s", path, got, want)
		}
	}
}
