package crawlbench

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A site is a folder that nginx serves, with its log.
type site struct{ base, log string }

func serve(b *testing.B, folder string) site {
	b.Helper()
	if _, err := os.Stat(folder); err != nil {
		b.Skipf("%s is not installed", folder)
	}
	nginx, dir := tool(b, "nginx"), b.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s := site{base: "http://" + addr + "/", log: filepath.Join(dir, "access.log")}
	var temp strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temp, "%s_temp_path %s/tmp;\n", kind, dir)
	}
	conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 1024; }
http {
  include /etc/nginx/mime.types; keepalive_requests 10000000; absolute_redirect off; %[4]s
  log_format l '$request_method $request_uri $status $sent_http_content_type';
  access_log %[2]s l;
  server { listen %[3]s; root %[5]s; index index.html; }
}`, dir, s.log, addr, temp.String(), folder)
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(nginx, "-c", path, "-p", dir)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 500 {
		if resp, err := http.Get(s.base); err == nil {
			resp.Body.Close()
			for len(s.requests(b)) == 0 { // nginx logs a request after it has answered it
				time.Sleep(time.Millisecond)
			}
			return s
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatal("nginx does not answer")
	return s
}

// requests gives the log since the last time, as fields.
func (s site) requests(b *testing.B) (all [][]string) {
	b.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.Truncate(s.log, 0); err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 4 {
			all = append(all, f)
		}
	}
	return all
}

// pages gives the addresses of the HTML pages that were got since the last time,
// sorted.
func (s site) pages(b *testing.B) []string { return pagesOf(s.requests(b)) }

// once is pages, and fails where any address was asked for twice.
func (s site) once(b *testing.B) []string {
	requests := s.requests(b)
	asked := map[string]bool{}
	for _, r := range requests {
		if asked[r[1]] {
			b.Errorf("%s was asked for twice", r[1])
		}
		asked[r[1]] = true
	}
	return pagesOf(requests)
}

func pagesOf(requests [][]string) (pages []string) {
	for _, r := range requests {
		if r[0] == http.MethodGet && r[2] == "200" && strings.HasPrefix(r[3], "text/html") {
			pages = append(pages, r[1])
		}
	}
	slices.Sort(pages)
	return pages
}
