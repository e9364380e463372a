package proof

import (
	"bytes"
	"testing"

	"arborist/document"
	"arborist/merkle"
)

// benchProofs gives the proof shapes that the figures in docs are about: one
// chunk of 1 KiB of a 1,000-chunk document, without and with a log of 10⁶
// records, and the number of node hashes that each path has.
func benchProofs(tb testing.TB) (short, logged *Proof, key *Verifier) {
	s := testSigner(tb, testPeer+"/main")
	chunks := numbered(1000)
	chunks[700] = bytes.Repeat([]byte("sixteen bytes..\n"), 64)
	d := newTestDocument(chunks)
	short = d.proof(tb, 700)
	logged = d.proof(tb, 700)
	logged.Log = bigLogPart(tb, s, NewRecord(d.header, document.Location{
		URI: "https://docs.python.org/3/library/asyncio-task.html", Title: "Coroutines and Tasks",
		Source: "directory", FetchedAt: testTime,
	}, document.ID{}))
	return short, logged, s.Verifier()
}

// bigLogPart proves record 543,210 of 10⁶ with siblings made up to fit: what a
// verifier does is the same as in a log that was built leaf by leaf.
func bigLogPart(tb testing.TB, s *Signer, r Record) *LogPart {
	const index, size = 543_210, 1_000_000
	line, err := r.Line()
	if err != nil {
		tb.Fatal(err)
	}
	path := make([]merkle.Hash, merkle.PathLength(index, size))
	for i := range path {
		path[i] = merkle.LeafHash([]byte{byte(i)})
	}
	root, err := merkle.RootFromInclusion(merkle.LeafHash(line), index, size, path)
	if err != nil {
		tb.Fatal(err)
	}
	note, err := SignCheckpoint(Checkpoint{Origin: s.Name(), Size: size, Root: root}, s)
	if err != nil {
		tb.Fatal(err)
	}
	return &LogPart{Record: r, Entry: Inclusion{Index: index, Path: path}, Note: note}
}

func BenchmarkNodeHash(b *testing.B) {
	l, r := merkle.LeafHash([]byte("l")), merkle.LeafHash([]byte("r"))
	for b.Loop() {
		l = merkle.NodeHash(l, r)
	}
}

// BenchmarkVerify measures everything but the signature, which a [Checker]
// checks once for all proofs of one checkpoint.
func BenchmarkVerify(b *testing.B) {
	short, logged, key := benchProofs(b)
	for _, bb := range []struct {
		name string
		p    *Proof
		e    Expect
	}{{"chunk", short, Expect{Root: &short.Header.Root}}, {"chunk+record", logged, Expect{Key: key}}} {
		var k Checker
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.Verify(bb.p, bb.e); err != nil {
					b.Fatal(err)
				}
			}
		})
		file, err := bb.p.MarshalText()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bb.name+"/from-text", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := Parse(file)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := k.Verify(p, bb.e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBareHashes is the least that a verifier can do: hash the passage,
// the record and the nodes of both paths.
func BenchmarkBareHashes(b *testing.B) {
	short, logged, _ := benchProofs(b)
	line, _ := logged.Log.Record.Line()
	b.Run("chunk", func(b *testing.B) {
		for b.Loop() {
			h := merkle.LeafHash(short.Text)
			for _, n := range short.Chunk.Path {
				h = merkle.NodeHash(h, n)
			}
		}
	})
	b.Run("chunk+record", func(b *testing.B) {
		for b.Loop() {
			h, g := merkle.LeafHash(logged.Text), merkle.LeafHash(line)
			for _, n := range logged.Chunk.Path {
				h = merkle.NodeHash(h, n)
			}
			for _, n := range logged.Log.Entry.Path {
				g = merkle.NodeHash(g, n)
			}
		}
	})
}
