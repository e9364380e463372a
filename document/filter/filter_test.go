package filter

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"arborist/document"
)

// rootOf returns the root of test number i.
func rootOf(i int) document.Root { return sha256.Sum256(fmt.Append(nil, "root ", i)) }

// filterOf returns the filter of the first n test roots.
func filterOf(t testing.TB, n int) *Filter {
	t.Helper()
	var b Builder
	for i := range n {
		b.Add(rootOf(i))
	}
	f, err := b.Filter()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNoRootOfTheSetIsDenied(t *testing.T) {
	sizes := []int{0, 1000, 4095, 4096, 20000}
	for n := 1; n < 200; n++ {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		built := filterOf(t, n)
		f, err := Parse(built.Bytes())
		if err != nil || f.Roots() != n {
			t.Fatalf("%d roots: parsed as %d, %v", n, f.Roots(), err)
		}
		for i := range n {
			if !f.MayHold(rootOf(i)) || !built.MayHold(rootOf(i)) {
				t.Fatalf("%d roots: root %d is denied", n, i)
			}
		}
	}
	if filterOf(t, 0).MayHold(rootOf(0)) {
		t.Error("the filter of no roots may hold one")
	}
}

func TestASeedThatFitsNoFilterIsFollowedByAnother(t *testing.T) {
	later := 0
	for set := range 3000 {
		var b Builder
		for i := range 8 {
			b.Add(rootOf(8*set + i))
		}
		f, err := b.Filter()
		if err != nil {
			t.Fatal(err)
		}
		if f.seed > 0 {
			later++
		}
		for i := range 8 {
			if !f.MayHold(rootOf(8*set + i)) {
				t.Fatalf("set %d, seed %d: root %d is denied", set, f.seed, i)
			}
		}
	}
	if later == 0 {
		t.Error("no set needed another seed than the first: this test shows nothing")
	}
}

func TestOthersAreDeniedButForOneIn65536(t *testing.T) {
	const roots, others = 20000, 1 << 21
	f := filterOf(t, roots)
	wrong := 0
	for i := range others {
		var root document.Root
		binary.BigEndian.PutUint64(root[:], mix(uint64(i))) // 8 bytes are all that counts
		if f.MayHold(root) {
			wrong++
		}
	}
	t.Logf("%d of %d others, 1 in %d; %.2f bits a root", wrong, others, others/max(wrong, 1), float64(8*len(f.Bytes()))/roots)
	if wrong < others>>16/2 || wrong > others>>16*2 {
		t.Errorf("%d of %d others may be held, want about %d", wrong, others, others>>16)
	}
}

func TestAFilterTakes18To25BitsARoot(t *testing.T) {
	for _, c := range []struct {
		roots int
		most  float64
	}{{1000, 25}, {20000, 21}, {100000, 19.5}, {1 << 20, 18.5}, {MaxRoots, 18.2}} {
		if bits := float64(8*layoutOf(c.roots).size()) / float64(c.roots); bits < 16 || bits > c.most {
			t.Errorf("%d roots: %.2f bits each, want at most %g", c.roots, bits, c.most)
		}
	}
	for n := 1; n <= MaxRoots; n += 1 + n/1000 {
		if size := layoutOf(n).size(); size > MaxBytes {
			t.Fatalf("%d roots: %d bytes, over %d", n, size, MaxBytes)
		}
	}
}

func TestTheSameRootsGiveTheSameBytes(t *testing.T) {
	var backwards Builder
	for i := 499; i >= 0; i-- {
		backwards.Add(rootOf(i))
		backwards.Add(rootOf(i / 2))
	}
	f, err := backwards.Filter()
	if err != nil || !bytes.Equal(f.Bytes(), filterOf(t, 500).Bytes()) {
		t.Errorf("in another order and some twice: another filter, %v", err)
	}
}

func TestTooManyRootsAreRefused(t *testing.T) {
	var b Builder
	b.keys = make([]uint64, MaxRoots+1)
	for i := range b.keys {
		b.keys[i] = uint64(i)
	}
	if _, err := b.Filter(); !errors.Is(err, ErrTooMany) {
		t.Errorf("one too many = %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(filterOf(f, 0).Bytes())
	f.Add(filterOf(f, 1).Bytes())
	f.Add(filterOf(f, 9).Bytes())
	f.Add([]byte(Version))
	f.Fuzz(func(t *testing.T, b []byte) {
		was := bytes.Clone(b)
		p, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if !bytes.Equal(p.Bytes(), was) || len(b) != layoutOf(p.Roots()).size() || len(b) > MaxBytes {
			t.Fatalf("%d bytes of %d roots are another spelling", len(b), p.Roots())
		}
		for i := range 64 {
			p.MayHold(rootOf(i))
		}
	})
}

// BenchmarkFilter builds a filter of a million roots and asks it.
func BenchmarkFilter(b *testing.B) {
	const n = 1 << 20
	roots := make([]document.Root, n)
	for i := range roots {
		roots[i] = rootOf(i)
	}
	var f *Filter
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			var builder Builder
			for _, r := range roots {
				builder.Add(r)
			}
			var err error
			if f, err = builder.Filter(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/root")
	})
	b.Run("ask", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			f.MayHold(roots[i%n])
		}
	})
}
