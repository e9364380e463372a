package merkle

import (
	"crypto/sha256"
	"testing"
	"time"
)

// rounds is how often a ratio is measured in one pass. The shortest time of
// each side counts: other work on the machine only ever adds to it.
const rounds = 7

// reportRatio runs both sides by turns and reports how many times as long as
// the bare hashes ours takes, which is what it could be at best.
func reportRatio(b *testing.B, ours, bare func()) {
	b.Helper()
	best := [2]time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		for range rounds {
			for side, f := range [2]func(){ours, bare} {
				start := time.Now()
				f()
				best[side] = min(best[side], time.Since(start))
			}
		}
	}
	b.ReportMetric(float64(best[0])/float64(best[1]), "ratio")
	b.ReportMetric(0, "ns/op") // of both sides together: says nothing
}

var sink Hash // keeps the compiler from dropping the work

func BenchmarkLeafHash(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"64B", 64}, {"1KiB", 1 << 10}, {"64KiB", 64 << 10}} {
		b.Run(size.name, func(b *testing.B) {
			data := make([]byte, size.bytes)
			n := 4 << 20 / size.bytes
			reportRatio(b, func() {
				for range n {
					sink = LeafHash(data)
				}
			}, func() {
				for range n {
					sink = sha256.Sum256(data)
				}
			})
		})
	}
}

// bareNodes hashes as many node inputs as the tree over n leaves has.
func bareNodes(n int) {
	var block [1 + 2*HashSize]byte
	for range n - 1 {
		sink = sha256.Sum256(block[:])
	}
}

const million = 1_000_000

func BenchmarkTreeOfAMillion(b *testing.B) {
	leaves := make([]Hash, million)
	for i := range leaves {
		leaves[i] = Hash{byte(i), byte(i >> 8), byte(i >> 16)}
	}
	bare := func() { bareNodes(million) }
	b.Run("Builder", func(b *testing.B) {
		reportRatio(b, func() { sink = Root(leaves) }, bare)
	})
	b.Run("Tree", func(b *testing.B) {
		reportRatio(b, func() { sink = NewTree(leaves).Root() }, bare)
	})
}

func BenchmarkVerifyInclusionAtAMillion(b *testing.B) {
	leaves := make([]Hash, million)
	for i := range leaves {
		leaves[i] = Hash{byte(i), byte(i >> 8), byte(i >> 16)}
	}
	tree := NewTree(leaves)
	root := tree.Root()
	const index = 654_321
	path, err := Inclusion(tree, index, million)
	if err != nil {
		b.Fatal(err)
	}
	const n = 2000
	reportRatio(b, func() {
		for range n {
			if err := VerifyInclusion(leaves[index], index, million, path, root); err != nil {
				b.Fatal(err)
			}
		}
	}, func() {
		for range n {
			bareNodes(len(path) + 1)
		}
	})
}

func BenchmarkVerifyConsistencyAtAMillion(b *testing.B) {
	tree := NewTree(make([]Hash, million))
	const old = 654_321
	oldRoot, err := RootAt(tree, old)
	if err != nil {
		b.Fatal(err)
	}
	root := tree.Root()
	path, err := Consistency(tree, old, million)
	if err != nil {
		b.Fatal(err)
	}
	// Each hash of the path goes into the new root; those on the left of the
	// old border go into the old root as well.
	hashes := len(path) - 1
	for i := range hashes {
		if i >= 20 || (uint64(old)-1)>>i&1 == 1 {
			hashes++
		}
	}
	const n = 1000
	reportRatio(b, func() {
		for range n {
			if err := VerifyConsistency(old, million, oldRoot, root, path); err != nil {
				b.Fatal(err)
			}
		}
	}, func() {
		for range n {
			bareNodes(hashes + 1)
		}
	})
}
