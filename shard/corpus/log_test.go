package corpus

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

const testPeer = "12D3KooWGzxzKZYveHXtpG6AsrUJBcWxHBFS2HsEoGTxrMLvKXtf"

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func testSigner(t testing.TB, name string, seed byte) *proof.Signer {
	t.Helper()
	s, err := proof.NewSigner(testPeer+"/"+name, [32]byte{seed, 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openTest(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newStore(t testing.TB) *Store {
	t.Helper()
	return openTest(t, filepath.Join(t.TempDir(), "corpora.db"))
}

// header makes the header of a document that nobody has: the log does not look
// behind it.
func header(content string) document.Header {
	return document.Header{
		Root: document.Root(merkle.LeafHash([]byte(content))), Chunks: 1, Bytes: 1,
		Norm: document.NormName, Chunker: document.ChunkerName,
	}
}

var testTime = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func listed(uri, content string) proof.Record {
	return proof.NewRecord(header(content), document.Location{
		URI: uri, Title: "Title of " + content, Source: "test", FetchedAt: testTime,
	}, document.ID{})
}

func withdrawal(uri string) proof.Record {
	return proof.Record{Op: proof.OpWithdraw, URI: uri, FetchedAt: testTime}
}

func numbered(n, from int) []proof.Record {
	recs := make([]proof.Record, n)
	for i := range recs {
		recs[i] = listed(fmt.Sprintf("https://example.org/%d", from+i), fmt.Sprintf("content %d", from+i))
	}
	return recs
}

func TestAppendedRecordsAreProven(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	signer := testSigner(t, "main", 1)
	if _, err := s.Create(ctx, "main", signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 700; i += 70 {
		head, err := s.Append(ctx, signer.Name(), signer, numbered(70, i))
		if err != nil {
			t.Fatal(err)
		}
		if head.Size != uint64(i+70) {
			t.Fatalf("size %d, want %d", head.Size, i+70)
		}
	}
	for i := range 700 {
		r := header(fmt.Sprintf("content %d", i)).Root
		part, err := s.Prove(ctx, signer.Name(), r)
		if err != nil {
			t.Fatal(err)
		}
		if part.Entry.Index != uint64(i) {
			t.Fatalf("index %d, want %d", part.Entry.Index, i)
		}
	}
	info, err := s.Lookup(ctx, "main")
	if err != nil || info.Documents != 700 || info.Size != 700 {
		t.Fatalf("info %+v, %v", info, err)
	}
	f := newStore(t)
	if _, err := f.Follow(ctx, signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	recs, err := s.Records(ctx, signer.Name(), 0, 700)
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	for _, r := range recs {
		line, _ := r.Line()
		lines = append(lines, line)
	}
	note, err := s.Note(ctx, signer.Name())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Extend(ctx, signer.Name(), note, lines); err != nil {
		t.Fatal(err)
	}
	got, err := f.Lookup(ctx, signer.Name())
	if err != nil {
		t.Fatal(err)
	}
	info.Own = false
	if got != info {
		t.Fatalf("got %+v, want %+v", got, info)
	}
}
