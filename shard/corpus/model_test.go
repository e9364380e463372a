package corpus

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/mod/sumdb/tlog"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

const testPeer = "12D3KooWGzxzKZYveHXtpG6AsrUJBcWxHBFS2HsEoGTxrMLvKXtf"

var testTime = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	if run := os.Getenv(childEnv); run != "" {
		os.Exit(child(run))
	}
	goleak.VerifyTestMain(m)
}

// A tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(string, ...any)
}

func testSigner(t tester, name string, seed byte) *proof.Signer {
	t.Helper()
	s, err := proof.NewSigner(testPeer+"/"+name, [32]byte{seed, 1})
	if err != nil {
		t.Fatalf("%v", err)
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

// header makes the header of a document that nobody has: a log does not look
// behind it.
func header(content string) document.Header {
	return document.Header{
		Root: document.Root(merkle.LeafHash([]byte(content))), Chunks: 1, Bytes: 1,
		Norm: document.NormName, Chunker: document.ChunkerName,
	}
}

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

// A model is a log written down the plain way, beside the store and without
// its code: lines in a slice, what is current in maps, the tree by x/mod.
type model struct {
	signer *proof.Signer
	lines  [][]byte
	recs   []proof.Record
	hashes tlogHashes
}

// tlogHashes is the storage of golang.org/x/mod/sumdb/tlog in memory.
type tlogHashes []tlog.Hash

func (h tlogHashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		if x >= int64(len(h)) {
			return nil, fmt.Errorf("hash %d of %d", x, len(h))
		}
		out[i] = h[x]
	}
	return out, nil
}

func newModel(t tester, name string) *model {
	return &model{signer: testSigner(t, name, 1)}
}

func (m *model) origin() string { return m.signer.Name() }
func (m *model) size() uint64   { return uint64(len(m.lines)) }

// fork returns a log of the same key that shares the first n records, and has others
// behind them.
func (m *model) fork(n int, others ...proof.Record) *model {
	f := &model{signer: m.signer}
	for _, r := range slices.Concat(m.recs[:n], others) {
		f.write(r)
	}
	return f
}

// write appends a record as it is, whether or not it may stand there.
func (m *model) write(r proof.Record) {
	line, err := r.Line()
	if err != nil {
		panic(err)
	}
	m.writeLine(line)
	m.recs = append(m.recs, r)
}

func (m *model) writeLine(line []byte) {
	hashes, err := tlog.StoredHashes(int64(len(m.lines)), line, m.hashes)
	if err != nil {
		panic(err)
	}
	m.hashes = append(m.hashes, hashes...)
	m.lines = append(m.lines, line)
}

// current replays the first n records: the index of the record that is current
// at each URI.
func (m *model) current(n uint64) map[string]int {
	at := make(map[string]int)
	for i, r := range m.recs[:n] {
		if r.Op == proof.OpWithdraw {
			delete(at, r.URI)
		} else {
			at[r.URI] = i
		}
	}
	return at
}

// put appends what the rule of the log makes of r.
func (m *model) put(r proof.Record) {
	i, live := m.current(m.size())[r.URI]
	switch {
	case r.Op == proof.OpWithdraw:
		if live && (r.ID == document.ID{} || r.ID == m.recs[i].ID) {
			m.write(m.recs[i].Withdrawal(r.FetchedAt))
		}
	case !live:
		m.write(r)
	case m.recs[i].ID != r.ID:
		r.Op, r.Supersedes = proof.OpSupersede, m.recs[i].ID
		m.write(r)
	}
}

func (m *model) root(n uint64) merkle.Hash {
	h, err := tlog.TreeHash(int64(n), m.hashes)
	if err != nil {
		panic(err)
	}
	return merkle.Hash(h)
}

func (m *model) head(n uint64) proof.Checkpoint {
	return proof.Checkpoint{Origin: m.origin(), Size: n, Root: m.root(n)}
}

func (m *model) note(n uint64) []byte {
	note, err := proof.SignCheckpoint(m.head(n), m.signer)
	if err != nil {
		panic(err)
	}
	return note
}

func (m *model) consistency(old, size uint64) []merkle.Hash {
	p, err := tlog.ProveTree(int64(size), int64(old), m.hashes)
	if err != nil {
		panic(err)
	}
	path := make([]merkle.Hash, len(p))
	for i := range p {
		path[i] = merkle.Hash(p[i])
	}
	return path
}

// from gives the lines up to n for ExtendFrom.
func (m *model) from(n uint64) func(uint64) iter.Seq2[[]byte, error] {
	return func(from uint64) iter.Seq2[[]byte, error] { return sequence(m.lines[from:n], nil) }
}

// sequence yields lines and then, if it is not nil, err.
func sequence(lines [][]byte, err error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buf := make([]byte, 0, proof.MaxRecord)
		for _, line := range lines {
			if !yield(append(buf, line...), nil) { // one buffer for all: the store has to copy
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// checkLog verifies that the store shows exactly the first n records of the
// model and nothing else, and that the store's own Check finds nothing.
func (m *model) checkLog(t tester, s *Store, n uint64) {
	t.Helper()
	m.checkInfo(t, s, n)
	m.checkTiles(t, s, n)
	m.checkDocuments(t, s, n)
	m.checkPast(t, s, n)
	m.checkPast(t, s, n/2)
	if n > 0 {
		recs, err := s.Records(context.Background(), m.origin(), 0, n)
		if err != nil || !slices.Equal(recs, m.recs[:n]) {
			t.Fatalf("records of %s at size %d differ from the model, %v", m.origin(), n, err)
		}
	}
	checkStore(t, s)
}

func checkStore(t tester, s *Store) {
	t.Helper()
	_, err := s.Check(context.Background(), func(problem string) { t.Fatalf("check: %s", problem) })
	if err != nil {
		t.Fatalf("check: %v", err)
	}
}

func (m *model) checkInfo(t tester, s *Store, n uint64) {
	t.Helper()
	ctx := context.Background()
	info, err := s.Lookup(ctx, m.origin())
	if err != nil {
		t.Fatalf("%v", err)
	}
	roots := make(map[document.Root]bool)
	for _, i := range m.current(n) {
		roots[m.recs[i].Header.Root] = true
	}
	if info.Size != n || info.Root != m.root(n) || info.Documents != uint64(len(roots)) {
		t.Fatalf("info %+v, want size %d, root %x, %d documents", info, n, m.root(n), len(roots))
	}
	note, err := s.Note(ctx, m.origin())
	if n == 0 {
		if !errors.Is(err, ErrNotFound) {
			t.Fatalf("note of an empty log: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	if head, err := proof.OpenCheckpoint(note, m.signer.Verifier()); err != nil || head != m.head(n) {
		t.Fatalf("note signs %v, %v; want %v", head, err, m.head(n))
	}
}

// checkTiles compares every tile and bundle with those of x/mod.
func (m *model) checkTiles(t tester, s *Store, n uint64) {
	t.Helper()
	ctx := context.Background()
	for level := range uint8(4) {
		hashes := int(n >> (8 * level))
		for index := 0; index*256 <= hashes; index++ {
			width := min(256, hashes-index*256)
			if width > 0 {
				want, err := tlog.ReadTileData(tlog.Tile{H: 8, L: int(level), N: int64(index), W: width}, m.hashes)
				if err != nil {
					t.Fatalf("%v", err)
				}
				got, err := s.Tile(ctx, m.origin(), level, uint64(index), width)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("tile %d/%d of width %d at size %d differs from x/mod, %v", level, index, width, n, err)
				}
				if level == 0 {
					m.checkEntries(t, s, index, width)
				}
			}
			if width < 256 {
				if _, err := s.Tile(ctx, m.origin(), level, uint64(index), width+1); !errors.Is(err, ErrNotFound) {
					t.Fatalf("tile %d/%d of width %d at size %d: %v", level, index, width+1, n, err)
				}
			}
		}
	}
	for _, beyond := range [][2]uint64{{n, n + 1}, {0, n + 1}, {n + 1, n + 2}} {
		if _, err := s.Records(ctx, m.origin(), beyond[0], beyond[1]); !errors.Is(err, ErrNotFound) {
			t.Fatalf("records %v at size %d: %v", beyond, n, err)
		}
	}
	if _, err := s.Entries(ctx, m.origin(), n/256, int(n%256)+1); !errors.Is(err, ErrNotFound) {
		t.Fatalf("entries beyond size %d: %v", n, err)
	}
}

func (m *model) checkEntries(t tester, s *Store, index, width int) {
	t.Helper()
	b, err := s.Entries(context.Background(), m.origin(), uint64(index), width)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, want := range m.lines[index*256 : index*256+width] {
		if len(b) < 2 || len(b) < 2+int(binary.BigEndian.Uint16(b)) {
			t.Fatalf("entries %d end early", index)
		}
		end := 2 + int(binary.BigEndian.Uint16(b))
		if !bytes.Equal(b[2:end], want) {
			t.Fatalf("entries %d hold %q, want %q", index, b[2:end], want)
		}
		b = b[end:]
	}
	if len(b) > 0 {
		t.Fatalf("entries %d have %d bytes too many", index, len(b))
	}
}

// checkDocuments compares Listed, Prove and History for documents and URIs of
// the whole model, records above n included: those must not show. Of a long
// log it takes every k-th.
func (m *model) checkDocuments(t tester, s *Store, n uint64) {
	t.Helper()
	ctx := context.Background()
	current := m.current(n)
	step := 1 + len(m.recs)/64
	for i := 0; i < len(m.recs); i += step {
		r := m.recs[i]
		root := r.Header.Root
		want := m.listing(root, n)
		isCurrent := false
		if want >= 0 {
			at, live := current[m.recs[want].URI]
			isCurrent = live && at == want
		}
		now, before, err := s.Listed(ctx, root)
		if err != nil || slices.Contains(now, m.origin()) != isCurrent || slices.Contains(before, m.origin()) != (want >= 0 && !isCurrent) {
			t.Fatalf("record %d at size %d: listed by %v, before by %v, %v; want record %d, now: %v", i, n, now, before, err, want, isCurrent)
		}
		part, err := s.Prove(ctx, m.origin(), root)
		if want < 0 {
			if !errors.Is(err, ErrNotFound) {
				t.Fatalf("record %d at size %d: proof of a document that no record lists: %v", i, n, err)
			}
		} else {
			if err != nil || part.Entry.Index != uint64(want) {
				t.Fatalf("record %d at size %d: proven by %+v, %v; want record %d", i, n, part, err, want)
			}
			m.checkPart(t, part, n)
		}
		m.checkHistory(t, s, r.URI, n)
	}
}

// listing returns the record that has to prove a document: the latest that is
// current, else the one that was current last, else -1.
func (m *model) listing(root document.Root, n uint64) int {
	best, bestEnd := -1, -1
	for i, r := range m.recs[:n] {
		if r.Op == proof.OpWithdraw || r.Header.Root != root {
			continue
		}
		end := int(n)
		for j := i + 1; j < int(n) && end == int(n); j++ {
			if m.recs[j].URI == r.URI {
				end = j
			}
		}
		if end >= bestEnd {
			best, bestEnd = i, end
		}
	}
	return best
}

// checkPart verifies a proof's log part with x/mod.
func (m *model) checkPart(t tester, part *proof.LogPart, n uint64) {
	t.Helper()
	line, err := part.Record.Line()
	if err != nil {
		t.Fatalf("%v", err)
	}
	head, err := proof.OpenCheckpoint(part.Note, m.signer.Verifier())
	if err != nil || head != m.head(n) {
		t.Fatalf("proof ends at %v, %v; want %v", head, err, m.head(n))
	}
	var path tlog.RecordProof
	for _, h := range part.Entry.Path {
		path = append(path, tlog.Hash(h))
	}
	err = tlog.CheckRecord(path, int64(head.Size), tlog.Hash(head.Root), int64(part.Entry.Index), tlog.RecordHash(line))
	if err != nil {
		t.Fatalf("proof of record %d at size %d: %v", part.Entry.Index, n, err)
	}
}

func (m *model) checkHistory(t tester, s *Store, uri string, n uint64) {
	t.Helper()
	var want []Entry
	for i, r := range m.recs[:n] {
		if r.URI == uri {
			want = append([]Entry{{Index: uint64(i), Record: r}}, want...)
		}
	}
	got, err := s.History(context.Background(), m.origin(), uri, len(m.recs)+1)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("history of %s at size %d: %v, %v; want %v", uri, n, got, err, want)
	}
}
