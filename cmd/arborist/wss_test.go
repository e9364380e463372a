package main

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A node that speaks WebSocket on loopback, behind a web server that ends TLS.
func TestANodeBehindATLSProxyIsSyncedFromByWebSocket(t *testing.T) {
	arborist := func(env []string, home string, args ...string) (string, error) {
		cmd := exec.Command("arborist", append([]string{"--home", home, "--json"}, args...)...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.Output()
		return string(out), err
	}
	node, reader, notes := t.TempDir()+"/home", t.TempDir()+"/home", t.TempDir()
	if err := os.WriteFile(filepath.Join(notes, "quarry.md"), []byte("The granite of the old quarry is grey."), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, do := range [][]string{{node, "init", "--shards", "1"}, {node, "add", notes}, {reader, "init", "--shards", "1"}} {
		if out, err := arborist(nil, do[0], do[1:]...); err != nil {
			t.Fatalf("%q: %v: %s", do, err, out)
		}
	}
	ready := startDaemon(t, exec.Command("arborist", "--home", node, "--json", "daemon", "--listen", "/ip4/127.0.0.1/tcp/0/ws"))
	port := regexp.MustCompile(`^/ip4/127\.0\.0\.1/tcp/(\d+)/ws/p2p/`).FindStringSubmatch(strings.Join(ready.Addrs, " "))
	if port == nil {
		t.Fatalf("the daemon listens at %q, want a WebSocket", ready.Addrs)
	}
	proxy := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:" + port[1]}))
	t.Cleanup(proxy.Close)
	addr := "/ip4/127.0.0.1/tcp/" + proxy.URL[strings.LastIndex(proxy.URL, ":")+1:] + "/tls/ws/p2p/" + ready.ID

	// The name's certificate counts, as for any web server …
	if out, err := arborist(nil, reader, "peer", "sync", addr, "main"); err == nil || !strings.Contains(out, `"unavailable"`) {
		t.Errorf("sync from a server with a certificate of nobody = %v: %s", err, out)
	}
	certificate := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	trusted := []string{"SSL_CERT_FILE=" + certificate}
	if out, err := arborist(trusted, reader, "peer", "sync", addr, "main"); err != nil || !strings.Contains(out, `"documents":1,`) {
		t.Errorf("sync = %v: %s", err, out)
	}
	// … and the peer's key behind it.
	other := strings.TrimSuffix(addr, ready.ID) + "12D3KooWKasDVjXU7enwEPvBU19KFG92wMS8YoQprCuFBkghcEh9"
	if out, err := arborist(trusted, reader, "peer", "corpora", other); err == nil {
		t.Errorf("another peer was met there: %s", out)
	}
}
