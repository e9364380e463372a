package proof

import (
	"fmt"
	"strings"
	"time"

	"arborist/document"
	"arborist/merkle"
)

// testPeer is a peer ID in its usual form; nothing here depends on it.
const testPeer = "12D3KooWGzxzKZYveHXtpG6AsrUJBcWxHBFS2HsEoGTxrMLvKXtf"

var testTime = time.Date(2026, 11, 30, 3, 50, 0, 0, time.UTC)

func testSigner(t tester, name string) *Signer {
	t.Helper()
	var seed [32]byte
	copy(seed[:], name)
	s, err := NewSigner(name, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A testDocument is a document whose chunks the test chooses.
type testDocument struct {
	chunks [][]byte
	tree   *merkle.Tree
	header document.Header
}

func newTestDocument(chunks [][]byte) *testDocument {
	leaves := make([]merkle.Hash, len(chunks))
	size := 0
	for i, c := range chunks {
		leaves[i] = merkle.LeafHash(c)
		size += len(c)
	}
	tree := merkle.NewTree(leaves)
	return &testDocument{chunks: chunks, tree: tree, header: document.Header{
		Root: document.Root(tree.Root()), Chunks: uint64(len(chunks)), Bytes: uint64(size),
		Norm: document.NormName, Chunker: document.ChunkerName,
	}}
}

// numbered returns n chunks that differ.
func numbered(n int) [][]byte {
	chunks := make([][]byte, n)
	for i := range chunks {
		chunks[i] = fmt.Appendf(nil, "Chunk %d of %d.\n\n%s", i, n, strings.Repeat("word ", i%7))
	}
	return chunks
}

// proof returns the short proof of a chunk with its passage.
func (d *testDocument) proof(t tester, index int) *Proof {
	t.Helper()
	path, err := merkle.Inclusion(d.tree, uint64(index), d.header.Chunks)
	if err != nil {
		t.Fatal(err)
	}
	return &Proof{Chunk: Inclusion{Index: uint64(index), Path: path}, Header: d.header, Text: d.chunks[index]}
}

// record returns a plain add record of a document.
func (d *testDocument) record(uri string) Record {
	return NewRecord(d.header, document.Location{
		URI: uri, Title: `A "quoted" title — with \ and é`, Source: "directory",
		FetchedAt: testTime,
	}, document.ID{})
}

// logged returns the log-form proof of a chunk in a log of size records where
// the document's own stands at place.
func (d *testDocument) logged(t tester, s *Signer, index, place, size int) *Proof {
	t.Helper()
	p := d.proof(t, index)
	p.Log = logPart(t, s, d.record("https://example.org/a?b=1&c=<2>"), place, size)
	return p
}

func logPart(t tester, s *Signer, r Record, place, size int) *LogPart {
	t.Helper()
	line, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	leaves := make([]merkle.Hash, size)
	for i := range leaves {
		leaves[i] = merkle.LeafHash(fmt.Appendf(nil, "record %d", i))
	}
	leaves[place] = merkle.LeafHash(line)
	tree := merkle.NewTree(leaves)
	path, err := merkle.Inclusion(tree, uint64(place), uint64(size))
	if err != nil {
		t.Fatal(err)
	}
	note, err := SignCheckpoint(Checkpoint{Origin: s.Name(), Size: uint64(size), Root: tree.Root()}, s)
	if err != nil {
		t.Fatal(err)
	}
	return &LogPart{Record: r, Entry: Inclusion{Index: uint64(place), Path: path}, Note: note}
}

// leaf returns the leaf hash of a chunk.
func (d *testDocument) leaf(index int) merkle.Hash { return merkle.LeafHash(d.chunks[index]) }

// A tester is what the builders need of [testing.TB] and of rapid's T.
type tester interface {
	Helper()
	Fatal(args ...any)
}
