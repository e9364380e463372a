package crawl

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"arborist/ingest"
)

// docs are folders of real documentation, the largest first: Debian's
// openjdk-17-doc, python3.11-doc, sqlite3-doc. BENCH_SITE names another one,
// as a folder and the path of a page in it: /usr/share/doc/rust-doc/html:std/index.html
func docs() [][2]string {
	if folder, page, ok := strings.Cut(os.Getenv("BENCH_SITE"), ":"); ok {
		return [][2]string{{folder, page}}
	}
	return [][2]string{
		{"/usr/share/doc/openjdk-17-doc", "api/index.html"},
		{"/usr/share/doc/python3.11/html", "index.html"},
		{"/usr/share/doc/sqlite3", "index.html"},
	}
}

// BenchmarkDiscoveryAgainstWget2 crawls real documentation, served by nginx on
// loopback, and lets wget2 do the same with 8 threads. It reports the processor
// time of a page as a ratio, and fails where the pages are not the same ones or
// one was asked for twice. make bench-crawl runs it.
func BenchmarkDiscoveryAgainstWget2(b *testing.B) {
	for _, tool := range []string{"nginx", "wget2"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Skipf("%s is not installed", tool)
		}
	}
	site := slices.IndexFunc(docs(), func(d [2]string) bool { _, err := os.Stat(filepath.Join(d[0], d[1])); return err == nil })
	if site < 0 {
		b.Skip("openjdk-17-doc, python3.11-doc or sqlite3-doc is not installed")
	}
	web := serveDocs(b, docs()[site][0])
	for b.Loop() {
		ours := measured(b, "", os.Args[0], nil, discoverEnv+"="+web.base+docs()[site][1])
		pages := web.pages(b)
		wget := measured(b, b.TempDir(), "wget2", []string{"-q", "-r", "-l", "inf", "--max-threads=8", "--robots=off", "--no-parent",
			"--reject", "*.css,*.js,*.png,*.gif,*.svg,*.ico,*.woff2,*.jpg,*.zip,*.gz,*.pdf", web.base + docs()[site][1]})
		theirs := web.pages(b)
		once := slices.Compact(slices.Clone(pages))
		if len(once) != len(pages) {
			b.Errorf("%d pages in %d requests", len(once), len(pages))
		}
		for _, p := range slices.Compact(theirs) {
			if !slices.Contains(once, p) {
				b.Errorf("wget2 alone found %s", p)
			}
		}
		b.ReportMetric(float64(len(once)), "pages")
		b.ReportMetric(ours.cpu.Seconds()/wget.cpu.Seconds(), "cpu/wget2")
		b.ReportMetric(float64(ours.cpu.Microseconds())/float64(len(once)), "µs-cpu/page")
		b.ReportMetric(float64(ours.rss)/1024, "MB-peak")
	}
}

// discoverEnv makes the test's own program discover a site, see TestMain.
const discoverEnv = "ARBORIST_TEST_DISCOVER"

func discover(seed string) error {
	c, err := New(Config{Seed: seed, Depth: 999, Fast: true, AllowNets: loopback}, nil)
	if err != nil {
		return err
	}
	return c.Documents(context.Background(), func(ingest.Raw) error { return nil }, nil)
}

// A cost is what a process took.
type cost struct {
	cpu time.Duration
	rss int64 // KB, at most
}

func measured(b *testing.B, dir, name string, args []string, env ...string) cost {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	// wget2 ends with 8 where some page was an error.
	if err := cmd.Run(); err != nil && (name != "wget2" || cmd.ProcessState.ExitCode() != 8) {
		b.Fatalf("%s: %v", name, err)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), int64(usage.Maxrss)}
}

// A docServer is nginx with one folder and a log.
type docServer struct{ base, log string }

func serveDocs(b *testing.B, folder string) docServer {
	b.Helper()
	dir := b.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s := docServer{base: "http://" + addr + "/", log: filepath.Join(dir, "access.log")}
	var temp strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temp, "%s_temp_path %s/tmp;\n", kind, dir)
	}
	conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 1024; }
http {
  include /etc/nginx/mime.types; keepalive_requests 10000000; absolute_redirect off; %[4]s
  log_format l '$request_method $uri $status $sent_http_content_type';
  access_log %[2]s l;
  server { listen %[3]s; root %[5]s; index index.html; }
}`, dir, s.log, addr, temp.String(), folder)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("nginx", "-c", filepath.Join(dir, "nginx.conf"), "-p", dir)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 500 {
		if resp, err := http.Get(s.base); err == nil {
			resp.Body.Close()
			s.pages(b)
			return s
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatal("nginx does not answer")
	return s
}

// pages gives the HTML pages that were answered since the last time, sorted.
func (s docServer) pages(b *testing.B) (pages []string) {
	b.Helper()
	runtime.Gosched()
	text, err := os.ReadFile(s.log)
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 3 && f[0] == "GET" && f[2] == "200" && strings.HasPrefix(f[3], "text/html") {
			pages = append(pages, f[1])
		}
	}
	slices.Sort(pages)
	if err := os.Truncate(s.log, 0); err != nil {
		b.Fatal(err)
	}
	return pages
}
