package peer

import (
	"testing"
	"time"
)

// Each limit of bytes a second is kept, whoever sets it. A sync cannot be too slow for
// this test.
func TestLimitsOfBytesASecondAreKept(t *testing.T) {
	const size, perSecond = 1 << 20, 1 << 19
	least := time.Duration(size-writeSize) * time.Second / perSecond
	for _, c := range []struct {
		name         string
		up, down, of int64
	}{{name: "what peers get", up: perSecond}, {name: "what syncs take", down: perSecond}, {name: "of one sync", of: perSecond}} {
		a := newNode(t).up(listenTCP, func(cfg *Config) { cfg.Serve.MaxUpload = c.up })
		b := newNode(t).up(nil, func(cfg *Config) { cfg.MaxDownload, cfg.NoCompression = c.down, true })
		a.publish("main", entriesOf(t, "doc:/x", 1, size)...)
		began := time.Now()
		_, err := b.peer.SyncFrom(t.Context(), SyncRequest{From: []string{a.addr()}, Corpus: "main", MaxRate: c.of})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < least {
			t.Errorf("%s: %d bytes came in %v, want at least %v", c.name, size, took, least)
		}
	}
}
