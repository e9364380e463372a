package crawl

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"arborist/crawl/egress"
	"arborist/crawl/fetch/fetchtest"
	"arborist/ingest"
	"arborist/internal/arbtest/site"
)

// seedErr runs a crawl that must fail with a SeedError and gives it.
func seedErr(t *testing.T, cfg Config) *SeedError {
	t.Helper()
	c, err := New(cfg, nil)
	if err == nil {
		err = c.Documents(t.Context(), func(ingest.Raw) error { return nil }, nil)
	}
	var e *SeedError
	if !errors.As(err, &e) {
		t.Errorf("seed %q: %v, want a SeedError", cfg.Seed, err)
		return &SeedError{Kind: errors.New("none")}
	}
	if line := e.Error(); strings.ContainsAny(line, "\n\r\x1b") || len(line) > 1000 {
		t.Errorf("seed %q: not one clear line: %q", cfg.Seed, line)
	}
	return e
}

func TestSeedsThatAreNoAddressAreRefusedAtOnce(t *testing.T) {
	for _, tc := range []struct{ seed, says string }{
		{"", "give an address"},
		{"example.com/docs", "write it in full"},
		{"/docs", "write it in full"},
		{"ftp://example.com/", "not an http or https address"},
		{"file:///etc/passwd", "not an http or https address"},
		{"http://", "not a web address"},
		{"http://a b/", "not a web address"},
		{"http://h:99999/", "not a web address"},
		{"https://user:secret@example.com/", "user name"},
	} {
		_, err := New(Config{Seed: tc.seed}, nil)
		if !errors.Is(err, ErrSeedURL) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q: %v, want it to say %q", tc.seed, err, tc.says)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the password is repeated: %v", tc.seed, err)
		}
	}
	if _, err := New(Config{Seed: "http://h/", AllowHosts: []string{"http://x"}}, nil); !errors.Is(err, ErrHost) {
		t.Errorf("%v", err)
	}
}

func TestPrivateAddressesGetNoPacketWithoutAllowNet(t *testing.T) {
	canary := fetchtest.NewCanary(t, "127.0.0.1:0")
	port := strconv.Itoa(int(canary.Addr.Port()))
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]", "127.0.0.1.", "[64:ff9b::7f00:1]"} {
		e := seedErr(t, Config{Seed: "http://" + host + ":" + port + "/x"})
		if e.Kind != ErrSeedAddress || !errors.Is(e, egress.ErrDenied) {
			t.Errorf("%s: %v (kind %v)", host, e, e.Kind)
		}
		if !strings.Contains(e.Error(), "--allow-net") {
			t.Errorf("%s: no next step: %v", host, e)
		}
	}
	if n := canary.Hits(); n != 0 {
		t.Errorf("%d connections reached the canary", n)
	}
	// What shows in the address is refused before anything is set up.
	if _, err := New(Config{Seed: "http://0x7f000001:" + port + "/"}, nil); !errors.Is(err, ErrSeedAddress) {
		t.Errorf("New: %v", err)
	}
	// Allowed, it is reached.
	seedErr(t, Config{Seed: "http://127.0.0.1:" + port + "/", AllowNets: loopback})
	if n := canary.Hits(); n == 0 {
		t.Error("the canary does not sing")
	}
}

func TestRedirectsReachNoPrivateAddressAndNoOtherPort(t *testing.T) {
	canary := fetchtest.NewCanary(t, "127.0.0.1:0")
	target := "http://" + canary.Addr.String() + "/"
	s := site.New(map[string]site.Page{
		"/":     site.Links("home", "/to", target, "/meta"),
		"/to":   {To: target},
		"/meta": {Body: `<meta http-equiv=refresh content="0;url=` + target + `"><p>text`},
	})
	got := fast(t, s, "/", 3)
	if hits := canary.Hits(); len(got.pages) != 2 || hits != 0 {
		t.Errorf("pages %q, %d connections", got.paths(), hits)
	}
}

func TestRobotsRedirectsReachNoOtherMachineOfAnAllowedNetwork(t *testing.T) {
	s := site.New(nil)
	base := s.Start(t)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	neighbour, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Skip(err) // not every system has all of 127.0.0.0/8
	}
	defer neighbour.Close()
	reached := make(chan struct{}, 1)
	go func() {
		if c, err := neighbour.Accept(); err == nil {
			c.Close()
			reached <- struct{}{}
		}
	}()
	s.Set("/robots.txt", site.Page{To: "http://127.0.0.2:" + port + "/robots.txt"})
	s.Set("/", site.Links("home"))
	seedErr(t, Config{Seed: base + "/", AllowNets: loopback, Fast: true})
	select {
	case <-reached:
		t.Error("a machine that nobody named was contacted")
	case <-time.After(20 * time.Millisecond):
	}
	if s.Count("/") != 0 {
		t.Error("the seed was fetched without its rules")
	}
}

func TestASeedThatComesToNothingSaysWhy(t *testing.T) {
	s := site.New(map[string]site.Page{
		"/robots.txt":   {Type: "text/plain", Body: "User-agent: *\nDisallow: /denied"},
		"/denied":       site.Links("denied"),
		"/to-denied":    {To: "/denied"},
		"/away":         {To: "https://www.example.com/start"},
		"/loop":         {To: "/loop2"},
		"/loop2":        {To: "/loop"},
		"/self":         {To: "/self"},
		"/nowhere":      {Status: 302},
		"/mail":         {To: "mailto:x@example.com"},
		"/image":        {Type: "image/png", Body: "x"},
		"/pdf":          {Type: "application/pdf", Body: "%PDF"},
		"/login":        {Status: 401},
		"/empty-answer": {Status: 204},
	})
	base := s.Start(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, tc := range []struct {
		seed string
		kind error
		says []string
	}{
		{base + "/denied", ErrSeedRobots, []string{"robots.txt: Disallow: /denied", "ask its owner"}},
		{base + "/to-denied", ErrSeedRobots, []string{"redirects to", "/denied"}},
		{base + "/away", ErrSeedRedirect, []string{"another host", "start at https://www.example.com/start", "--allow-host www.example.com"}},
		{base + "/loop", ErrSeedRedirect, []string{"circle"}},
		{base + "/self", ErrSeedRedirect, []string{"circle"}},
		{base + "/nowhere", ErrSeedRedirect, []string{"without a target"}},
		{base + "/mail", ErrSeedRedirect, []string{"mailto:"}},
		{base + "/image", ErrSeedNotPage, []string{"image/png"}},
		{base + "/pdf", ErrSeedNotPage, []string{"application/pdf"}},
		{base + "/login", ErrSeedNotPage, []string{"status 401", "login"}},
		{base + "/gone", ErrSeedNotPage, []string{"status 404 not found"}},
		{base + "/empty-answer", ErrSeedNotPage, []string{"status 204"}},
		{"http://" + closed.Addr().String() + "/", ErrSeedUnreachable, []string{"connection refused", "check the address"}},
		{"http://no-such-host.invalid/", ErrSeedUnreachable, []string{"no such host", "check the address"}},
	} {
		start := time.Now()
		e := seedErr(t, Config{Seed: tc.seed, AllowNets: loopback, Fast: true})
		if e.Kind != tc.kind || !errors.Is(e, tc.kind) {
			t.Errorf("%s: kind %v, want %v", tc.seed, e.Kind, tc.kind)
		}
		for _, says := range append(tc.says, tc.seed) {
			if !strings.Contains(e.Error(), says) {
				t.Errorf("%s: %q does not say %q", tc.seed, e, says)
			}
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: told after %v", tc.seed, took)
		}
		t.Log(e)
	}
}

func TestASiteWithoutReadableRulesIsNotCrawled(t *testing.T) {
	s := site.New(map[string]site.Page{"/": site.Links("home"), "/robots.txt": {Status: 503}})
	e := seedErr(t, Config{Seed: s.Start(t) + "/", AllowNets: loopback, Fast: true})
	if e.Kind != ErrSeedUnreachable || s.Count("/") != 0 {
		t.Errorf("%v, requests %q", e, s.Targets())
	}
	t.Log(e)
	s.Set("/robots.txt", site.Page{Status: 403})
	if e = seedErr(t, Config{Seed: s.Start(t) + "/", AllowNets: loopback, Fast: true}); e.Kind != ErrSeedRobots || s.Count("/") != 0 {
		t.Errorf("%v, requests %q", e, s.Targets())
	}
	t.Log(e)
}
