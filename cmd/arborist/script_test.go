package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"arborist/ingest/extract/pdf"
	"arborist/internal/arbtest/pdftest"
	"arborist/proof/report"
)

func TestMain(m *testing.M) {
	pdftest.Serve()
	testscript.Main(m, map[string]func(){
		"arborist":        func() { os.Exit(Main()) },
		"arborist-verify": func() { os.Exit(report.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestCommandLine runs testdata/script: each file is a story, its name the
// promise.
func TestCommandLine(t *testing.T) {
	site := testSite(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ARBORIST_HOME", env.WorkDir+"/home")
			env.Setenv("SITE", site)
			env.Setenv("DEAD", deadAddress(t))
			env.Setenv("IPFS", kubo())
			// Bytes that a txtar file cannot hold.
			return errors.Join(os.WriteFile(env.WorkDir+"/binary.bin", []byte("\x7fELF\x00\x01\x02\x00"), 0o600),
				os.WriteFile(env.WorkDir+"/plan.pdf", plan(), 0o600))
		},
		Condition: func(name string) (bool, error) {
			if name != "kubo" {
				return false, fmt.Errorf("no condition is called %q", name)
			}
			return kubo() != "", nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fetch":    cmdFetch,
			"gateway":  cmdGateway,
			"exits":    cmdExits,
			"waitfor":  cmdWaitFor,
			"fifo":     cmdFifo,
			"huge":     cmdHuge,
			"flip":     cmdFlip,
			"setfrom":  cmdSetFrom,
			"onelined": cmdOneLined,
			"fill":     cmdFill,
			"spoil":    cmdSpoil,
			"zerohead": cmdZeroHead,
			"sametext": cmdSameText,
			"warm":     cmdWarm,
			"cutoff":   cmdCutOff,
		},
	})
}

// kubo is the program of Kubo where there is one: the variable KUBO, or ipfs.
func kubo() string {
	path, err := exec.LookPath(cmp.Or(os.Getenv("KUBO"), "ipfs"))
	if err != nil {
		return ""
	}
	return path
}

// cmdFetch writes what a server sends to a file: fetch URL PATH FILE, where PATH is
// one of the URL's host.
func cmdFetch(ts *testscript.TestScript, _ bool, args []string) {
	base, err := url.Parse(args[0])
	ts.Check(err)
	at, err := base.Parse(args[1])
	ts.Check(err)
	res, err := http.Get(at.String())
	ts.Check(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	ts.Check(err)
	if res.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s: %s", at, res.Status, body)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), body, 0o600))
}

// cmdGateway turns the gateway on in a new configuration: gateway FILE
func cmdGateway(ts *testscript.TestScript, _ bool, args []string) {
	config := ts.ReadFile(args[0])
	on := strings.Replace(config, "[peer]\n", "[peer]\ngateway = true\n", 1)
	if on == config {
		ts.Fatalf("%s has no [peer]", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(on), 0o600))
}

// cmdExits runs a command and demands one exit code: exits CODE COMMAND…
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s: exit code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// cmdOneLined demands that the last command said one clear line on stderr,
// with at most the next step below it.
func cmdOneLined(ts *testscript.TestScript, _ bool, _ []string) {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stderr")), "\n")
	var said []string
	for _, l := range lines {
		if strings.HasPrefix(l, "arborist: ") || strings.HasPrefix(l, "error: ") || strings.HasPrefix(l, "failed: ") {
			said = append(said, l)
		}
	}
	if len(said) != 1 {
		ts.Fatalf("want one line that says what is wrong, got %q", lines)
	}
}

// cmdWaitFor waits until a file is there: waitfor FILE
func cmdWaitFor(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(3 * time.Minute) // a busy machine is slow
	for time.Now().Before(deadline) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s never came", args[0])
}

func cmdFifo(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// cmdHuge makes a sparse file of 200 MB.
func cmdHuge(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(path, []byte("text at its start\n"), 0o600))
	ts.Check(os.Truncate(path, 200<<20))
}

// cmdFlip copies a file with one bit of its last letter changed: flip FROM TO
func cmdFlip(ts *testscript.TestScript, _ bool, args []string) {
	b := []byte(ts.ReadFile(args[0]))
	b[len(b)-2] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o600))
}

// cmdFill puts variables into a file in which they are named: fill FILE
func cmdFill(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

// cmdSetFrom sets a variable from the first match of a "key":"value" in a
// file of JSON: setfrom VAR FILE KEY
func cmdSetFrom(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[1])
	_, rest, ok := strings.Cut(text, fmt.Sprintf("%q:", args[2]))
	if !ok {
		ts.Fatalf("%s has no key %q: %s", args[1], args[2], text)
	}
	rest = strings.TrimLeft(rest, `["`)
	end := strings.IndexAny(rest, `",}]`)
	ts.Setenv(args[0], rest[:end])
}

// plan is a file that needs the worker.
func plan() []byte {
	return pdftest.File("The plan of the quarry", "The gneiss is cut in the second year.", "Then comes the syenite.")
}

// cmdWarm gives a home the compiled code that tests share: warm FOLDER
func cmdWarm(ts *testscript.TestScript, _ bool, args []string) {
	r := pdf.NewReader(pdftest.Config())
	defer r.Close()
	_, err := r.Read(context.Background(), plan()) // compiles, where no test has before
	ts.Check(err)
	ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o700))
	ts.Check(exec.Command("cp", "-r", pdftest.Config().Cache+"/.", ts.MkAbs(args[0])).Run())
}

// testSite serves a small site on loopback and returns its address.
func testSite(t *testing.T) string {
	pages := map[string]string{
		"/":             `<title>Home</title><p>The quarry opens at dawn and the granite is cut by noon.</p><a href="/deep">deep</a> <a href="/secret/x">no</a>`,
		"/deep":         `<title>Deep</title><p>Under the granite lies a private seam of marble that nobody has mapped.</p><a href="/gone">gone</a>`,
		"/robots.txt":   "User-agent: *\nDisallow: /secret/\n",
		"/secret/x":     `<p>never fetched</p>`,
		"/empty":        "",
		"/flaky":        `<title>Flaky</title><p>Links to a page that is down.</p><a href="/down">down</a> <a href="/notes.txt">notes</a> <a href="/plan.pdf">plan</a>`,
		"/tired":        `<title>Tired</title><p>Links to a page that asks for a long rest.</p><a href="/resting">rest</a>`,
		"/shelf":        `<title>Shelf</title><p>Where the notes are.</p><a href="/notes.txt">notes</a>`,
		"/notes.txt":    "The feldspar is in the notes.",
		"/plan.pdf":     string(plan()),
		"/binary":       "\x7fELF\x00\x01\x02",
		"/secret/start": `<p>never fetched</p>`,
	}
	var changing, going atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/lasting": // leads to one that changes each time, and one that is there once
			fmt.Fprint(w, `<title>Lasting</title><p>What lasts.</p><a href="/changing">a</a><a href="/going">b</a>`)
			return
		case "/sitemap": // names a page that no link leads to, and one that robots.txt forbids
			fmt.Fprintf(w, "http://%[1]s/lasting\nhttp://%[1]s/secret/x\n", r.Host)
			return
		case "/changing":
			fmt.Fprintf(w, "<title>Changing</title><p>This was asked for %d times.</p>", changing.Add(1))
			return
		case "/going":
			if going.Add(1) == 1 {
				fmt.Fprint(w, "<title>Going</title><p>This is there once.</p>")
				return
			}
		}
		if r.URL.Path == "/resting" {
			w.Header().Set("Retry-After", "7200")
		}
		if r.URL.Path == "/down" || r.URL.Path == "/resting" {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, ".pdf") {
			w.Header().Set("Content-Type", "application/octet-stream")
		} else if strings.HasSuffix(r.URL.Path, ".txt") {
			w.Header().Set("Content-Type", "text/plain")
		} else {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// deadAddress is a loopback address at which nothing listens.
func deadAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/"
}

// cmdSpoil changes a shard behind its owner's back: spoil FILE SQL
func cmdSpoil(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite3", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(args[1])
	ts.Check(err)
}

// cmdZeroHead overwrites the first page of a file: zerohead FILE
func cmdZeroHead(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	defer f.Close()
	_, err = f.WriteAt(make([]byte, 4096), 0)
	ts.Check(err)
}

// cmdSameText demands that two answers of a query differ in their time alone:
// sametext FILE FILE
func cmdSameText(ts *testscript.TestScript, _ bool, args []string) {
	took := regexp.MustCompile(`"took_ms":\d+`)
	a, b := took.ReplaceAllString(ts.ReadFile(args[0]), ""), took.ReplaceAllString(ts.ReadFile(args[1]), "")
	if a != b {
		ts.Fatalf("%s and %s differ:\n%s\n%s", args[0], args[1], a, b)
	}
}
