package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/internal/arbtest/site"
)

// validated gives a page with validators of its own, as a good server sends it:
// 304 to whoever has it, HEAD without a body.
func validated(body, etag string) site.Page {
	return site.Page{Serve: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag)
		w.Header().Set("Content-Type", "text/html")
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, body)
	}}
}

// unheaded gives a page whose server answers HEAD with a status of its own, or
// where that is 0, hangs up.
func unheaded(status int, body, etag string) site.Page {
	inner := validated(body, etag)
	return site.Page{Serve: func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			if status == 0 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(status)
			return
		}
		inner.Serve(w, r)
	}}
}

func text(word string) string {
	return "<h1>" + word + "</h1><p>A page that tells of " + word + ".</p>"
}

// A recheck's world: a crawled site, and what the log says since.
type rechecked struct {
	site *site.Site
	base string
	p    *Private
}

func crawledSite(t *testing.T, pages map[string]site.Page) rechecked {
	t.Helper()
	s := site.New(pages)
	var hrefs []string
	for target := range pages {
		hrefs = append(hrefs, target)
	}
	s.Set("/", site.Links("home", sorted(hrefs)...))
	w := rechecked{site: s, base: s.Start(t), p: openPrivate(t, filepath.Join(t.TempDir(), "web.db"))}
	if _, stored, err := into(t, t.Context(), w.p, Config{Seed: w.base + "/", Depth: 1, Fast: true}); err != nil || stored.New != len(pages)+1 {
		t.Fatalf("%+v, %v", stored, err)
	}
	s.Forget()
	return w
}

// check rechecks all pages and gives the states by path, and the requests.
func (w rechecked) check(t *testing.T, change ...func(*RecheckConfig)) (states map[string]Checked, requests []string) {
	t.Helper()
	w.site.Forget()
	states = map[string]Checked{}
	cfg := RecheckConfig{Crawl: Config{Fast: true, Workers: 1, AllowNets: loopback}, Each: func(c Checked) { states[strings.TrimPrefix(c.URL, w.base)] = c }}
	for _, fn := range change {
		fn(&cfg)
	}
	counts, err := w.p.Recheck(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range counts {
		n += c
	}
	if n != len(states) {
		t.Errorf("%d pages counted, %d told", n, len(states))
	}
	for _, h := range w.site.Hits() {
		requests = append(requests, h.Method+" "+h.Target)
	}
	return states, requests
}

func update(c *RecheckConfig) { c.Update = true }

func TestAPageIsFreshStaleGoneOrUnreachable(t *testing.T) {
	same := map[string]site.Page{
		"/etag":      validated(text("etag"), `"1"`),
		"/plain":     {Body: text("plain")},
		"/405":       unheaded(405, text("no head"), `"1"`),
		"/head-404":  unheaded(404, text("head lies"), `"1"`),
		"/head-500":  unheaded(500, text("head breaks"), `"1"`),
		"/head-drop": unheaded(0, text("head is hung up on"), `"1"`),
		"/date":      {Body: text("date"), Headers: []string{"Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT"}},
		"/unstable":  validated(text("a validator that changes in vain"), `"1"`),
		"/changed":   validated(text("before"), `"1"`),
		"/plainly":   {Body: text("before, plainly")},
		"/gone":      {Body: text("gone")},
		"/lost":      validated(text("lost"), `"1"`),
		"/closed":    validated(text("closed"), `"1"`),
		"/broken":    {Body: text("broken")},
		"/forbidden": {Body: text("forbidden")},
		"/moved":     {Body: text("moved")},
		"/now-pdf":   {Body: text("now a pdf")},
	}
	w := crawledSite(t, same)
	for target, c := range first(w.check(t)) {
		if c.State != Fresh || c.Updated {
			t.Errorf("%s: %+v, unchanged", target, c)
		}
	}
	w.site.Set("/unstable", validated(text("a validator that changes in vain"), `"2"`))
	w.site.Set("/changed", validated(text("after"), `"2"`))
	w.site.Set("/plainly", site.Page{Body: text("after, plainly")})
	w.site.Set("/gone", site.Page{Status: 404})
	w.site.Set("/lost", site.Page{Status: 410})
	w.site.Set("/closed", site.Page{Status: 403})
	w.site.Set("/broken", site.Page{Status: 500})
	w.site.Set(robotsTxt, site.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /forbidden"})
	w.site.Set("/moved", site.Page{To: "/new", Status: 301})
	w.site.Set("/now-pdf", site.Page{Type: "application/pdf", Body: "%PDF"})
	states, requests := w.check(t)
	for target, want := range map[string]string{
		"/": Fresh, "/etag": Fresh, "/plain": Fresh, "/405": Fresh, "/head-404": Fresh, "/head-500": Fresh, "/head-drop": Fresh, "/date": Fresh,
		"/unstable": Stale, "/changed": Stale, "/plainly": Stale, "/moved": Stale, "/now-pdf": Stale,
		"/gone": Gone, "/lost": Gone, "/closed": Unreachable, "/broken": Unreachable, "/forbidden": Unreachable,
	} {
		c := states[target]
		if c.State != want || (c.Reason == "") != (want == Fresh) || c.Updated {
			t.Errorf("%s: %+v, want %s", target, c, want)
		}
	}
	// One request where one tells enough, and none where the rules say no.
	for target, want := range map[string]string{
		"/etag": "HEAD", "/changed": "HEAD", "/date": "HEAD", "/plain": "GET", "/405": "HEAD GET", "/lost": "HEAD GET", "/forbidden": "", "/moved": "GET",
	} {
		var got []string
		for _, r := range requests {
			if method, path, _ := strings.Cut(r, " "); path == target {
				got = append(got, method)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s was asked by %q, want %q", target, got, want)
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

func TestUpdateStoresWhatChangedAndWritesNothingElse(t *testing.T) {
	w := crawledSite(t, map[string]site.Page{
		"/same": validated(text("same"), `"1"`), "/touched": validated(text("touched"), `"1"`),
		"/changed": validated(text("before"), `"1"`), "/plainly": {Body: text("before, plainly")},
		"/gone": {Body: text("gone")}, "/moved": {Body: text("moved")}, "/away": {Body: text("away")}, "/secret": {Body: text("secret")},
	})
	w.site.Set("/touched", validated(text("touched"), `"2"`))
	w.site.Set("/changed", validated(text("after"), `"2"`))
	w.site.Set("/plainly", site.Page{Body: text("after, plainly")})
	w.site.Set("/gone", site.Page{Status: 404})
	w.site.Set("/moved", site.Page{To: "/new", Status: 301})
	w.site.Set("/new", validated(text("a new place"), `"1"`))
	w.site.Set("/away", site.Page{To: "http://elsewhere.example/", Status: 302})
	w.site.Set("/secret", site.Page{Body: `<meta name=robots content=noindex>` + text("changed, and not to be kept")})
	states, requests := w.check(t, update)
	for target, want := range map[string]Checked{
		"/same": {State: Fresh}, "/touched": {State: Fresh}, "/changed": {State: Stale, Updated: true}, "/plainly": {State: Stale, Updated: true},
		"/gone": {State: Gone}, "/moved": {State: Gone, Updated: true}, "/away": {State: Gone}, "/secret": {State: Gone},
	} {
		if c := states[target]; c.State != want.State || c.Updated != want.Updated {
			t.Errorf("%s: %+v, want %+v", target, c, want)
		}
	}
	// A page that came while it was looked at is not fetched again.
	if n := countOf(requests, "GET /plainly"); n != 1 {
		t.Errorf("/plainly was fetched %d times", n)
	}
	for target, versions := range map[string]int{"/same": 1, "/touched": 1, "/changed": 2, "/plainly": 2, "/gone": 1, "/moved": 1, "/new": 1, "/away": 1, "/secret": 1} {
		history, err := w.p.File().History(t.Context(), w.base+target)
		if err != nil || len(history) != versions || !history[0].Current {
			t.Errorf("%s: %+v, %v; want %d versions", target, history, err, versions)
		}
		_, gone, err := w.p.GoneSince(t.Context(), w.base+target)
		if want := slices.Contains([]string{"/gone", "/moved", "/away", "/secret"}, target); gone != want || err != nil {
			t.Errorf("%s: gone %v, %v", target, gone, err)
		}
	}
	if problems, err := check(t, w.p); err != nil || len(problems) > 0 {
		t.Errorf("check: %q, %v", problems, err)
	}
	// Nothing is left to do, and the new validators are known.
	before := contents(t, w.p)
	states, requests = w.check(t, update)
	for _, target := range []string{"/same", "/touched", "/changed", "/plainly", "/new"} {
		if c := states[target]; c.State != Fresh || c.Updated {
			t.Errorf("the second time, %s: %+v", target, c)
		}
	}
	if n := countOf(requests, "GET /touched") + countOf(requests, "GET /changed"); n != 0 {
		t.Errorf("%d pages were fetched although their validators are known: %q", n, requests)
	}
	if contents(t, w.p) != before {
		t.Error("documents were written")
	}
}

func countOf(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func TestAPageThatIsGoneAndComesBackLosesItsMark(t *testing.T) {
	w := crawledSite(t, map[string]site.Page{"/a": {Body: text("a")}})
	gone := func(want bool, when string) {
		t.Helper()
		if _, is, err := w.p.GoneSince(t.Context(), w.base+"/a"); is != want || err != nil {
			t.Errorf("%s: gone %v, %v", when, is, err)
		}
	}
	gone(false, "at first")
	w.site.Set("/a", site.Page{Status: 404})
	report, _, err := into(t, t.Context(), w.p, Config{Seed: w.base + "/", Depth: 1, Fast: true})
	if err != nil || report.Gone != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	gone(true, "after a crawl that met a 404")
	since, _, _ := w.p.GoneSince(t.Context(), w.base+"/a")
	time.Sleep(2 * time.Millisecond)
	w.check(t)
	if again, _, _ := w.p.GoneSince(t.Context(), w.base+"/a"); !again.Equal(since) {
		t.Errorf("gone since %v, then since %v", since, again)
	}
	w.site.Set("/a", site.Page{Body: `<meta name=robots content=noindex>` + text("a")})
	if report, _, err := into(t, t.Context(), w.p, Config{Seed: w.base + "/", Depth: 1, Fast: true}); err != nil || report.Gone != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	gone(true, "after a crawl that was asked not to keep it")
	w.site.Set("/a", site.Page{Body: text("a, again")})
	if _, _, err := into(t, t.Context(), w.p, Config{Seed: w.base + "/", Depth: 1, Fast: true}); err != nil {
		t.Fatal(err)
	}
	gone(false, "after a crawl that found it again")
}

func TestARecheckHasALimitAndAHost(t *testing.T) {
	w := crawledSite(t, map[string]site.Page{"/a": {Body: text("a")}, "/b": {Body: text("b")}, "/c": {Body: text("c")}})
	seen := map[string]int{}
	for range 4 {
		states, _ := w.check(t, func(c *RecheckConfig) { c.Limit = 1 })
		for target := range states {
			seen[target]++
		}
		time.Sleep(2 * time.Millisecond)
	}
	if len(seen) != 4 {
		t.Errorf("four times the page that waits longest: %v", seen)
	}
	host := strings.TrimPrefix(w.base, "http://")
	for h, want := range map[string]int{host: 4, "127.0.0.1": 4} {
		if states, _ := w.check(t, func(c *RecheckConfig) { c.Host = h }); len(states) != want {
			t.Errorf("%s: %d pages", h, len(states))
		}
	}
	for h, want := range map[string]error{"127.0.0.2": ErrNoPages, "127.0.0.1:1": ErrNoPages, "27.0.0.1": ErrNoPages, "http://x/": ErrHost, "a b": ErrHost} {
		if _, err := w.p.Recheck(t.Context(), RecheckConfig{Host: h, Crawl: Config{AllowNets: loopback}}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", h, err, want)
		}
	}
}

func TestARecheckThatIsCancelledKeepsWhatItTold(t *testing.T) {
	pages := map[string]site.Page{}
	for i := range 20 {
		pages["/"+letters(i)] = site.Page{Body: text(letters(i))}
	}
	w := crawledSite(t, pages)
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	_, err := w.p.Recheck(ctx, RecheckConfig{Crawl: Config{Fast: true, Workers: 1, AllowNets: loopback}, Each: func(Checked) {
		if told++; told == 5 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || told < 5 || told > 15 {
		t.Errorf("%d told, %v", told, err)
	}
	var noted int
	if err := w.p.File().Reader().QueryRow("SELECT count(*) FROM checks").Scan(&noted); err != nil || noted != told {
		t.Errorf("%d told, %d noted, %v", told, noted, err)
	}
}

func TestAMarkStaysUntilThePageIsSeenAgain(t *testing.T) {
	w := crawledSite(t, map[string]site.Page{
		"/lost": validated(text("lost"), `"1"`), "/moved": {Body: text("moved")}, "/away": validated(text("away"), `"1"`), "/secret": validated(text("secret"), `"1"`),
	})
	targets := []string{"/lost", "/moved", "/away", "/secret"}
	marked := func(want bool, when string) {
		t.Helper()
		for _, target := range targets {
			if _, is, err := w.p.GoneSince(t.Context(), w.base+target); is != want || err != nil {
				t.Errorf("%s, %s: gone %v, %v", when, target, is, err)
			}
		}
	}
	w.site.Set("/lost", site.Page{Status: 404})
	w.site.Set("/moved", site.Page{To: "/new", Status: 301})
	w.site.Set("/new", site.Page{Body: text("a new place")})
	w.site.Set("/away", site.Page{To: "http://elsewhere.example/", Status: 302})
	w.site.Set("/secret", validated(`<meta name=robots content=noindex>`+text("secret"), `"2"`))
	w.check(t, update)
	marked(true, "after an update")
	states, _ := w.check(t)
	marked(true, "after a check of the same site")
	for _, target := range targets {
		if c := states[target]; c.State != Gone {
			t.Errorf("the second time, %s: %+v", target, c)
		}
	}
	for _, target := range targets {
		w.site.Set(target, site.Page{Status: 500})
	}
	w.check(t)
	marked(true, "while the site breaks")
	w.site.Set(robotsTxt, site.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /"})
	w.check(t)
	marked(true, "while the site is closed")
	w.site.Set(robotsTxt, site.Page{Status: 404})
	for _, target := range targets {
		w.site.Set(target, validated(text(strings.Trim(target, "/")), `"1"`))
	}
	w.check(t)
	marked(false, "once they are back")
}

func TestAPageThatAsksNotToBeKeptAnyMoreIsMarkedHoweverItSaysSo(t *testing.T) {
	tagged := func(inner site.Page) site.Page {
		return site.Page{Serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Robots-Tag", "noindex")
			inner.Serve(w, r)
		}}
	}
	pages := map[string]site.Page{
		"/meta": {Body: text("meta")}, "/header": {Body: text("header")},
		"/304": validated(text("not modified"), `"1"`), "/head": validated(text("no head"), `"1"`),
	}
	for _, how := range []string{"check", "update"} {
		w := crawledSite(t, pages)
		w.site.Set("/meta", site.Page{Body: `<meta name=robots content=noindex>` + text("meta")})
		w.site.Set("/header", site.Page{Body: text("header"), Headers: []string{"X-Robots-Tag", "noindex"}})
		w.site.Set("/304", tagged(validated(text("not modified"), `"1"`)))
		w.site.Set("/head", tagged(unheaded(405, text("no head"), `"1"`)))
		states, _ := w.check(t, func(c *RecheckConfig) { c.Update = how == "update" })
		for target := range pages {
			if c := states[target]; c.State != Gone || c.Updated {
				t.Errorf("%s, %s: %+v", how, target, c)
			}
		}
	}
}
