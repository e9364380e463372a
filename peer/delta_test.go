package peer

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"arborist/document"
	"arborist/merkle"
)

// lettersOf returns leaf hashes, one for each letter.
func lettersOf(s string) (leaves []merkle.Hash) {
	for _, c := range []byte(s) {
		leaves = append(leaves, merkle.Hash{c})
	}
	return leaves
}

// spell writes runs as one byte a chunk: the digit of its place, or "." for a new one.
func spell(runs []deltaRun) string {
	var b []byte
	for i, r := range runs {
		if i > 0 {
			b = append(b, ' ')
		}
		for j := range r.count {
			if r.fresh != nil {
				b = append(b, '.')
			} else {
				b = append(b, "0123456789"[r.first+j])
			}
		}
	}
	return string(b)
}

func TestTheRunsOfADelta(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"abcde", "abcde", "01234"},
		{"abcde", "abXde", "01 . 34"},
		{"abcde", "XYabcde", ".. 01234"},
		{"abcde", "abde", "01 34"},
		{"abcde", "deabc", "34 012"},
		{"abcde", "XYZ", "..."},
		{"abcab", "abab", "01 01"},  // from the first place that has it,
		{"abcad", "cad", "234"},     // but on where the chunk before was
		{"aab", "aaaab", "01 012"},  // a run ends where the old document goes on otherwise
		{"ab", "aXXb", "0 .. 1"},    // new ones are one run
		{"ab", "bb", "1 1"},         // a chunk can be taken twice
		{"a", "aa", "0 0"},          // and the run does not reach beyond the end
		{"ab", "X" + "a", ". 0"},    // a new one first
		{"xay", "ayXay", "12 . 12"}, // after a new one from the first place again
		{"aXaY", "aY", "0 3"},       // greedy: places are not looked for that make longer runs
		{"", "ab", ".."},            // from nothing
	} {
		runs, fresh := planDelta(lettersOf(c.new), lettersOf(c.old))
		if got := spell(runs); got != c.want {
			t.Errorf("from %q to %q: %q, want %q", c.old, c.new, got, c.want)
		}
		for _, i := range fresh {
			if bytes.IndexByte([]byte(c.old), c.new[i]) >= 0 {
				t.Errorf("from %q to %q: chunk %d is said to be new", c.old, c.new, i)
			}
		}
	}
}

// deltaOf makes the delta between two documents as a server does.
func deltaOf(t testing.TB, d, old *document.Document) []byte {
	t.Helper()
	runs, fresh := planDelta(leavesIn(t, d), leavesIn(t, old))
	b := appendRuns(nil, runs)
	for _, i := range fresh {
		b = appendChunk(b, d.Chunk(i))
	}
	return b
}

// read reads a delta and returns the text that it gives.
func readDeltaOf(b []byte, header document.Header, old *document.Document) ([]byte, error) {
	d := deltaReader{r: bytes.NewReader(b), header: header, old: old}
	if err := d.list(); err != nil {
		return nil, err
	}
	return d.text()
}

func TestADeltaGivesTheDocument(t *testing.T) {
	text := textOf("base", 60<<10)
	old := entryOf(t, "doc:/x", text).Document
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		// Pieces of the old text in any order, some twice, with something between.
		changed := text
		for range 1 + r.IntN(4) {
			from, to := r.IntN(len(changed)), r.IntN(len(changed))
			piece := changed[min(from, to):max(from, to)]
			at := r.IntN(len(changed))
			changed = changed[:at] + textOf(changed[at:min(at+20, len(changed))], r.IntN(3000)) + piece + changed[at:]
		}
		d := entryOf(t, "doc:/x", changed[:min(len(changed), 200<<10)]).Document
		_, fresh := planDelta(leavesIn(t, d), leavesIn(t, old))
		if !deltaPays(len(fresh), d.Header().Chunks) {
			continue
		}
		got, err := readDeltaOf(deltaOf(t, d, old), d.Header(), old)
		if err != nil || !bytes.Equal(got, d.Text()) {
			t.Fatalf("a delta with %d of %d chunks new: %v", len(fresh), d.Chunks(), err)
		}
	}
}

// FuzzDelta holds the reader to what it promises of any bytes: no other text than
// that of the document, and memory that the document bounds.
func FuzzDelta(f *testing.F) {
	text := textOf("base", 20<<10)
	old, d := entryOf(f, "doc:/x", text).Document, entryOf(f, "doc:/x", edited(text, 90)).Document
	good := deltaOf(f, d, old)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(append(bytes.Clone(good), 1))
	for _, at := range []int{0, 3, 4, 7, 8, 11, 12, 40, len(good) - 1} {
		b := bytes.Clone(good)
		b[at] ^= 0x81
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readDeltaOf(b, d.Header(), old)
		if err == nil && !bytes.Equal(got, d.Text()) {
			t.Fatalf("%d bytes were taken for the document", len(got))
		}
	})
}
