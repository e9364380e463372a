package peer

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// BenchmarkSync syncs documents between two nodes on loopback, verified and
// durable, and copies as many bytes over one bare libp2p stream between the
// same hosts. The ratio is sync over bare.
func BenchmarkSync(b *testing.B) {
	for _, c := range []struct {
		name    string
		n, size int
		listen  []string
	}{
		{"2000x5KiB/TCP", 2000, 5 << 10, listenTCP},
		{"2000x5KiB/QUIC", 2000, 5 << 10, listenQUIC},
		{"4x4MiB/TCP", 4, 4 << 20, listenTCP},
	} {
		b.Run(c.name, func(b *testing.B) {
			src := newNode(b).up(c.listen)
			src.publish("main", entriesOf(b, "doc:/x", c.n, c.size)...)
			var sync, bare time.Duration
			var bytes int64
			for range b.N {
				dst := newNode(b).up(nil)
				if _, err := dst.peer.Join(b.Context(), src.addr()); err != nil {
					b.Fatal(err)
				}
				start := time.Now()
				res := dst.sync(src.id, "main")
				sync += time.Since(start)
				bytes = res.Bytes
				start = time.Now()
				copyBare(b, src, dst, bytes)
				bare += time.Since(start)
				dst.close()
			}
			mb := float64(bytes) * float64(b.N) / 1e6
			b.ReportMetric(mb/sync.Seconds(), "sync-MB/s")
			b.ReportMetric(mb/bare.Seconds(), "bare-MB/s")
			b.ReportMetric(bare.Seconds()/sync.Seconds(), "ratio")
			b.ReportMetric(float64(c.n*b.N)/sync.Seconds(), "docs/s")
		})
	}
}

func copyBare(b *testing.B, src, dst *node, n int64) {
	b.Helper()
	const bare = "/test/bare/1"
	src.peer.host.SetStreamHandler(bare, func(s network.Stream) {
		buf := make([]byte, 64<<10)
		for left := n; left > 0; {
			m, err := s.Write(buf[:min(left, int64(len(buf)))])
			if err != nil {
				break
			}
			left -= int64(m)
		}
		s.Close()
	})
	id, err := libpeer.Decode(src.id)
	if err != nil {
		b.Fatal(err)
	}
	s, err := dst.peer.host.NewStream(context.Background(), id, bare)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	got, err := io.Copy(io.Discard, s)
	if err != nil || got != n {
		b.Fatal(fmt.Errorf("copied %d of %d bytes: %w", got, n, err))
	}
}
