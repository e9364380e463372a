//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/internal/arbtest/netns"
)

// A household is a daemon in a namespace of its own.
type household struct {
	t     *testing.T
	space netns.Space
	home  string
	id    string
}

// settle starts a daemon with these lines below [peer] in its configuration.
func settle(t *testing.T, space netns.Space, config ...string) *household {
	t.Helper()
	h := &household{t: t, space: space, home: filepath.Join(t.TempDir(), "home")}
	h.arborist("init", "--shards", "1")
	file := filepath.Join(h.home, "config.toml")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b = []byte(strings.Replace(string(b), "[peer]", "[peer]\n"+strings.Join(config, "\n"), 1))
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	ready := startDaemon(t, space.Command("arborist", "--home", h.home, "--json", "daemon"))
	h.id = ready.ID
	return h
}

// try runs a command in the household and returns what it says in JSON.
func (h *household) try(args ...string) (map[string]any, error) {
	h.t.Helper()
	out, failed := h.space.Command("arborist", append([]string{"--home", h.home, "--json"}, args...)...).Output()
	var said map[string]any
	if err := json.Unmarshal(out, &said); err != nil {
		h.t.Fatalf("arborist %q says %q: %v", args, out, err)
	}
	return said, failed
}

func (h *household) arborist(args ...string) map[string]any {
	h.t.Helper()
	said, err := h.try(args...)
	if err != nil {
		h.t.Fatalf("arborist %q: %v: %v", args, err, said)
	}
	return said
}

func (h *household) await(what string, is func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("after a minute still not: %s", what)
		}
	}
}

func (h *household) addrs() (addrs []string) {
	for _, a := range h.arborist("peer", "id")["addrs"].([]any) {
		addrs = append(addrs, a.(string))
	}
	return addrs
}

// addr returns the first address that has all parts in it, once there is one.
func (h *household) addr(parts ...string) (found string) {
	h.t.Helper()
	h.await(fmt.Sprintf("an address with %q", parts), func() bool {
		for _, a := range h.addrs() {
			has := true
			for _, p := range parts {
				has = has && strings.Contains(a, p)
			}
			if has {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

// relayed reports how the household is connected to another one.
func (h *household) relayed(id string) bool {
	h.t.Helper()
	for _, p := range h.arborist("peer", "list")["peers"].([]any) {
		if p := p.(map[string]any); p["peer_id"] == id && p["connected"] == true {
			return p["relayed"].(bool)
		}
	}
	h.t.Fatalf("%s is not connected", id)
	return false
}

// share adds a folder of text, and returns how many bytes that is.
func (h *household) share() (bytes int64) {
	h.t.Helper()
	dir := h.t.TempDir()
	for i := range 8 {
		text := make([]byte, 200_000)
		for j := range text {
			text[j] = "abcdefghijklmnopqrstuvwxyz      \n"[rand.N(33)]
		}
		bytes += int64(len(text))
		if err := os.WriteFile(fmt.Sprintf("%s/%d.txt", dir, i), text, 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	h.arborist("add", dir)
	return bytes
}

// apart returns a publisher and a reader behind routers of these kinds, the
// relay between them, and the address of the publisher through it. Each names
// the other side by its address of TCP, as people do who take the first.
func apart(t *testing.T, publisher, reader netns.NAT) (pub, read, relay *household, addr string) {
	t.Helper()
	internet := netns.NewInternet(t)
	relay = settle(t, internet.Host("relay", "20.0.0.1"), "relay_service = true")
	pub = settle(t, internet.Home("pub", "20.0.0.2", publisher), fmt.Sprintf("relays = [%q]", relay.addr("/ip4/20.0.0.1/tcp/4707/")))
	read = settle(t, internet.Home("read", "20.0.0.3", reader), "hole_punching = true")
	return pub, read, relay, pub.addr("/ip4/20.0.0.1/tcp/4707/", "/p2p-circuit/")
}

func TestTwoHomesBehindRoutersSyncOverAHoleAndNotOverTheRelay(t *testing.T) {
	if !netns.Inside(t, "nft") {
		return
	}
	pub, read, relay, addr := apart(t, netns.Cone, netns.Cone)
	bytes := pub.share()
	// Both sides have to send within the same moment, which two processors that have
	// ten things to do may miss: then its owner asks again.
	for tries := 1; ; tries++ {
		said, err := read.try("peer", "join", addr)
		if err == nil {
			break
		}
		if tries == 3 {
			t.Fatalf("peer join = %v", said)
		}
	}
	if read.relayed(pub.id) || pub.relayed(read.id) {
		t.Error("they are connected through the relay alone")
	}
	before := relay.space.Sent(t)
	if got := read.arborist("peer", "sync", pub.id, "main"); got["documents"] != 8.0 {
		t.Errorf("sync = %v, want 8 documents", got)
	}
	if sent := relay.space.Sent(t) - before; sent > bytes/16 {
		t.Errorf("the relay sent %d bytes during a sync of %d", sent, bytes)
	}
}

func TestRoutersThatLetNoHoleBePunchedAreSaidAtOnce(t *testing.T) {
	if !netns.Inside(t, "nft") {
		return
	}
	pub, read, relay, addr := apart(t, netns.Symmetric, netns.Symmetric)
	pub.share()
	before := relay.space.Sent(t)
	for _, args := range [][]string{{"join", addr}, {"sync", addr, "main"}} {
		said, err := read.try(append([]string{"peer"}, args...)...)
		if err == nil {
			t.Fatalf("peer %s = %v, want a failure", args[0], said)
		}
		e := said["error"].(map[string]any)
		if e["code"] != "unavailable" || !strings.Contains(e["message"].(string), "no direct connection") || !strings.Contains(e["hint"].(string), "open port") {
			t.Errorf("peer %s says %v, want why and what to do", args[0], e)
		}
	}
	if !read.relayed(pub.id) {
		t.Error("they are connected directly, through two symmetric routers")
	}
	if sent := relay.space.Sent(t) - before; sent > 128<<10 {
		t.Errorf("the relay sent %d bytes, want next to nothing", sent)
	}
}
