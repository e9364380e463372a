package peer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAPrivateNetworkTakesItsOwnNodesAlone(t *testing.T) {
	key, other := filepath.Join(t.TempDir(), "network.key"), filepath.Join(t.TempDir(), "network.key")
	for _, path := range []string{key, other} {
		if err := CreateNetworkKey(path); err != nil {
			t.Fatal(err)
		}
	}
	with := func(path string) func(*Config) { return func(c *Config) { c.NetworkKeyFile = path } }
	for _, listen := range []string{"/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/tcp/0/ws"} {
		a := newNode(t).up([]string{listen}, with(key))
		a.publish("main", entriesOf(t, "doc:/x", 2, 300)...)
		if res := newNode(t).up(nil, with(key)).sync(a.addr(), "main"); res.Documents != 2 {
			t.Errorf("%s: sync inside the network = %+v", listen, res)
		}
		for name, stranger := range map[string]*node{"without a key": newNode(t).up(nil), "with another key": newNode(t).up(nil, with(other))} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the rest of 15 s adds nothing
			defer cancel()
			if _, err := stranger.peer.Join(ctx, a.addr()); err == nil {
				t.Errorf("%s: a node %s was let in", listen, name)
			}
		}
		if len(a.peer.Peers()) > 1 {
			t.Errorf("%s: strangers are connected", listen)
		}
	}
	n := newNode(t)
	if p, err := New(Config{KeyFile: n.keyFile(), Listen: listenQUIC, NetworkKeyFile: key}, n.shared); !errors.Is(err, ErrPrivateNetwork) {
		t.Errorf("QUIC in a private network = %v, %v, want ErrPrivateNetwork", p, err)
	}
	if p, err := New(Config{KeyFile: n.keyFile(), NetworkKeyFile: key + "x"}, n.shared); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing key = %v, %v: the open network must not be joined instead", p, err)
	}
}

func TestNetworkKeysHaveOneSpelling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "network.key")
	if err := CreateNetworkKey(path); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mark, err := LoadNetworkKey(path)
	if err != nil || len(mark) != 16 || strings.Contains(string(good), mark) {
		t.Errorf("fingerprint %q, %v", mark, err)
	}
	if err := CreateNetworkKey(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("making it again = %v, want ErrExist", err)
	}
	text := string(good)
	for name, bad := range map[string]string{
		"empty": "", "another head": strings.Replace(text, "1.0.0", "1.0.1", 1), "upper case": strings.ToUpper(text[len(networkKeyHead):]),
		"short": text[:len(text)-3] + "\n", "long": text + "00", "no line end": text[:len(text)-1], "two line ends": text + "\n",
		"base64": strings.Replace(text, "base16", "base64", 1), "CRLF": strings.ReplaceAll(text, "\n", "\r\n"),
	} {
		_, err := parseNetworkKey([]byte(bad))
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		if err != nil && strings.Contains(err.Error(), text[len(networkKeyHead):len(text)-1]) {
			t.Errorf("%s: the error quotes the key", name)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadNetworkKey(path); !errors.Is(err, ErrKeyFile) {
		t.Errorf("a key that others can read = %v, want ErrKeyFile", err)
	}
}

func FuzzParseNetworkKey(f *testing.F) {
	f.Add([]byte(networkKeyHead + strings.Repeat("0a", networkKeySize) + "\n"))
	f.Add([]byte(networkKeyHead))
	f.Fuzz(func(t *testing.T, raw []byte) {
		key, err := parseNetworkKey(raw)
		if err == nil && string(encodeNetworkKey(key)) != string(raw) {
			t.Errorf("%q is a second spelling", raw)
		}
	})
}
