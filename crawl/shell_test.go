package crawl

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/ingest"
)

// A site that its scripts write is crawled in mode auto: shells are rendered,
// links that scripts write are followed, and what robots.txt closes stays
// closed to scripts as well.
func TestASiteThatScriptsWriteIsCrawled(t *testing.T) {
	needChromium(t)
	var mu sync.Mutex
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		kind, body := "text/html", ""
		switch r.URL.Path {
		case "/robots.txt":
			kind, body = "text/plain", "User-agent: *\nDisallow: /api/closed\n"
		case "/", "/second":
			body = `<!DOCTYPE html><title>App</title><div id=app></div><script src="/app.js"></script>`
		case "/app.js":
			kind, body = "text/javascript", `const say = s => { document.getElementById("app").innerHTML += s };
fetch("/api/closed").then(r => r.text()).then(say).catch(() => say("<p>closed: kept out</p>"))
.then(() => fetch("/api/open")).then(r => r.text()).then(t => say("<p>" + location.pathname + " " + t.repeat(20) + "</p><a href=/second>on</a> <a href=/plain>plain</a>"))`
		case "/api/open", "/api/closed":
			kind, body = "text/plain", r.URL.Path+" answered. "
		case "/plain":
			body = `<!DOCTYPE html><title>Plain</title><p>` + strings.Repeat("No script is needed here. ", 20)
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Write([]byte(body))
	}))
	defer srv.Close()
	c, err := New(Config{Seed: srv.URL + "/", Depth: 2, Fast: true, AllowNets: loopback, Fetcher: Auto, RenderTimeout: 5 * time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	if err := c.Documents(t.Context(), func(raw ingest.Raw) error {
		texts[strings.TrimPrefix(raw.Location.URI, srv.URL)] = string(raw.Body)
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/second"} {
		if got := texts[path]; !strings.Contains(got, path+" /api/open answered. /api/open answered.") || !strings.Contains(got, "closed: kept out") {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := texts["/plain"]; !strings.HasSuffix(got, "here. ") || len(texts) != 3 {
		t.Errorf("/plain is not as it was sent, or there are other pages: %q", texts)
	}
	if slices.Contains(asked, "/api/closed") {
		t.Errorf("asked for %q", asked)
	}
	for _, once := range []string{"/", "/second", "/plain", "/robots.txt"} {
		if n := len(slices.DeleteFunc(slices.Clone(asked), func(a string) bool { return a != once })); n != 1 {
			t.Errorf("%s was asked for %d times", once, n)
		}
	}
}
