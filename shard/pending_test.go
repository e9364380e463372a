package shard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/document"
)

// allHits are the hits of some queries, with their scores.
func allHits(t *testing.T, s *Shared, queries []refQuery) (all []Results) {
	t.Helper()
	for _, q := range queries {
		for _, versions := range []bool{false, true} {
			r, err := s.Search(t.Context(), Query{Text: q.text, Limit: 20, AllVersions: versions})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
	}
	return all
}

func mustFindTheSame(t *testing.T, got, want []Results) {
	t.Helper()
	for i, w := range want {
		hits := make([]refHit, len(w.Hits))
		for j, h := range w.Hits {
			hits[j] = refHit{h.Root, h.Index, math.Float64bits(h.Score)}
		}
		r := got[i]
		if r.Total != w.Total {
			t.Errorf("query %d: %d passages, want %d", i, r.Total, w.Total)
			continue
		}
		r.Total = len(hits)
		compareHits(t, fmt.Sprint("query ", i), r, hits, w.Mode, 0, 20)
	}
}

func TestWhatIsStoredIsFoundOnceIndexed(t *testing.T) {
	s, entries := newShared(t, 4), generated(t, 60)
	put1(t, s, entries[:20]...)
	queries := refQueries(entries, 20)
	before := allHits(t, s, queries)
	// Some of the new ones take the place of what is found, and of each other.
	for i := 20; i < 60; i++ {
		entries[i].Location.URI = fmt.Sprintf("test:generated/%d", i%35)
	}
	out, err := s.Store(t.Context(), entries[20:])
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range out {
		if !o.New {
			t.Errorf("entry %d: %+v", 20+i, o)
		}
	}
	for _, e := range entries {
		if _, err := s.Document(t.Context(), e.Document.Root()); err != nil {
			t.Error(err)
		}
	}
	mustCheck(t, s)
	if err := s.QuickCheck(t.Context(), func(p string) { t.Errorf("quick check: %s", p) }); err != nil {
		t.Fatal(err)
	}
	for i, r := range allHits(t, s, queries) {
		if r.Pending != 40 || r.Total > before[i].Total {
			t.Errorf("query %d: %d pending, %d found, want 40 and at most %d", i, r.Pending, r.Total, before[i].Total)
		}
		for _, h := range r.Hits {
			if h.Root == entries[40].Document.Root() {
				t.Errorf("query %d finds what is not indexed", i)
			}
		}
	}
	var reports int
	if err := s.Index(t.Context(), func(int) { reports++ }); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Pending(t.Context()); n != 0 || err != nil {
		t.Errorf("%d pending after Index, %v", n, err)
	}
	mustCheck(t, s)
	at := newShared(t, 4)
	put1(t, at, entries...)
	mustFindTheSame(t, allHits(t, s, queries), allHits(t, at, queries))
}

// Whatever comes between storing and indexing, once all is indexed the set finds
// what one finds that indexed everything at once.
func TestIndexingLaterFindsTheSame(t *testing.T) {
	entries := generated(t, 150)
	queries := refQueries(entries, 15)
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, at := newShared(t, 2), newShared(t, 2)
		var did []string
		for range 40 {
			var batch []document.Entry
			for range 1 + r.IntN(6) {
				e := entries[r.IntN(len(entries))]
				e.Location.URI = fmt.Sprintf("test:%d", r.IntN(25))
				batch = append(batch, e)
			}
			op := r.IntN(10)
			did = append(did, fmt.Sprint(op))
			var err error
			switch op {
			case 0:
				put1(t, s, batch...)
			case 1:
				_, err = s.indexSome(t.Context()) // all of it, since it is little
			case 2:
				err = s.Compact(t.Context(), func(c Compacted) {
					if c.Err != nil {
						t.Error(c.Err)
					}
				})
			case 3:
				if s.Shards() < 8 {
					_, err = s.Split(t.Context(), nil)
				}
			case 4:
				uri := batch[0].Location.URI
				if err = s.Withdraw(t.Context(), "", uri); err == nil {
					err = at.Withdraw(t.Context(), "", uri)
				}
			default:
				_, err = s.Store(t.Context(), batch)
			}
			if err != nil {
				t.Fatalf("seed %d after %v: %v", seed, did, err)
			}
			if op == 0 || op > 4 {
				put1(t, at, batch...)
			}
			if r.IntN(8) == 0 {
				mustCheck(t, s)
			}
		}
		if err := s.Index(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		mustCheck(t, s)
		mustFindTheSame(t, allHits(t, s, queries), allHits(t, at, queries))
		if t.Failed() {
			t.Fatalf("seed %d: %v", seed, did)
		}
	}
}

func TestKilledIndexingLosesNothingAcknowledged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shards")
	if err := CreateShared(dir, 4); err != nil {
		t.Fatal(err)
	}
	last, left := -1, 0
	for round := range 8 {
		from := max(0, (last-9)/5*5)
		acknowledged, problem := runChild(t, fmt.Sprintf("%s|%d|later", dir, from), time.Duration(60+round*23)*time.Millisecond)
		if problem != "" {
			t.Fatalf("round %d: %s", round, problem)
		}
		last = max(last, acknowledged)
		s := openTestShared(t, dir)
		n, err := s.Pending(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		left += n
		if round%4 == 3 {
			mustHold(t, s, last)
			if err := s.Index(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			mustHold(t, s, last)
			for n := max(0, last-20); n <= last; n++ {
				if r, err := s.Search(t.Context(), Query{Text: fmt.Sprintf(`"number %d is told"`, n), AllVersions: true}); err != nil || r.Total == 0 {
					t.Errorf("page %d is not found: %v", n, err)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d pages acknowledged, %d times a kill left one that was not indexed", last+1, left)
	if last < 20 {
		t.Errorf("only %d pages were acknowledged: the test tests too little", last+1)
	}
}

func TestDamagedPendingDocumentHoldsUpNoOther(t *testing.T) {
	for _, damage := range []struct {
		name string
		to   func(*File, []byte) []byte
	}{
		{"bytes that are no frame", func(*File, []byte) []byte { return make([]byte, 9) }},
		// What was stored here is known to be sound, and this is not that.
		{"a frame of another text", otherText},
	} {
		t.Run(damage.name, func(t *testing.T) { damagedPending(t, damage.to) })
	}
}

// otherText returns a frame of a text that differs in one byte.
func otherText(f *File, data []byte) []byte {
	var frame storedText
	if err := f.codec.decode(&frame, data); err != nil {
		panic(err)
	}
	frame.text[0] ^= 1
	lengths := make([]int, frame.Chunks())
	for i := range lengths {
		lengths[i] = len(frame.Chunk(i))
	}
	data, err := f.codec.encode(lengths, frame.text, nil)
	if err != nil {
		panic(err)
	}
	return data
}

func damagedPending(t *testing.T, damage func(*File, []byte) []byte) {
	s := newShared(t, 1)
	entries := generated(t, 12)
	if _, err := s.Store(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	f := s.Files()[0]
	var id int64
	var data []byte
	if err := f.writer.QueryRow("SELECT id, data FROM texts WHERE id = (SELECT id FROM documents ORDER BY id LIMIT 1 OFFSET 4)").Scan(&id, &data); err != nil {
		t.Fatal(err)
	}
	if _, err := f.writer.Exec("UPDATE texts SET data = ? WHERE id = ?", damage(f, data), id); err != nil {
		t.Fatal(err)
	}
	f.fresh.clear() // as of the next process
	if err := s.Index(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if len(s.Damage()) == 0 {
		t.Error("the damage was met and is not told of")
	}
	var problems []string
	if _, err := s.Check(t.Context(), func(p string) { problems = append(problems, p) }); err != nil || len(problems) != 1 {
		t.Errorf("check: %q, %v", problems, err)
	}
	for i, e := range entries {
		text := string(e.Document.Chunk(0)[:12])
		r, err := s.Search(t.Context(), Query{Text: text, Any: true, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, h := range r.Hits {
			found = found || h.Root == e.Document.Root()
		}
		if found == (i == 4) {
			t.Errorf("document %d found: %v", i, found)
		}
	}
}

// What is behind the index counts for nothing. A file that says otherwise is damaged.
func TestPendingDocumentsThatCountAreDamage(t *testing.T) {
	for _, tampering := range []string{
		"UPDATE documents SET visible = 1 WHERE id = 1; UPDATE state SET passages = passages + (SELECT chunks FROM documents WHERE id = 1)",
		"UPDATE documents SET words = 5 WHERE id = 1; UPDATE state SET all_words = all_words + 5",
	} {
		s := newShared(t, 1)
		if _, err := s.Store(t.Context(), generated(t, 3)); err != nil {
			t.Fatal(err)
		}
		f := s.Files()[0]
		if _, err := f.writer.Exec(tampering); err != nil {
			t.Fatal(err)
		}
		var problems []string
		if err := s.QuickCheck(t.Context(), func(p string) { problems = append(problems, p) }); err != nil || len(problems) != 1 {
			t.Errorf("%s: quick check: %q, %v", tampering, problems, err)
		}
		if err := s.Index(t.Context(), nil); !isCorrupt(err) {
			t.Errorf("%s: index: %v", tampering, err)
		}
	}
}

// A step of indexing says truly what it has left, or the rest would wait for the
// next start.
func TestLongDocumentIsIndexedToItsEnd(t *testing.T) {
	s := newShared(t, 1)
	long := entry(t, "test:long", strings.Repeat("A line that is in no way new.\n", 3*maxFrame/30)+"The last word is quagga.\n")
	if _, err := s.Store(t.Context(), []document.Entry{long}); err != nil {
		t.Fatal(err)
	}
	if err := s.Index(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r, err := s.Search(t.Context(), Query{Text: "quagga"})
	if err != nil || len(r.Hits) != 1 || r.Hits[0].Index != uint64(long.Document.Chunks()-1) {
		t.Errorf("%d hits, %v; want one in the last chunk", len(r.Hits), err)
	}
	mustCheck(t, s)
}

func TestIndexingGoesOnUntilNothingIsLeft(t *testing.T) {
	s, entries := newShared(t, 1), generated(t, 5)
	if _, err := s.Store(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	pending, err := s.Pending(t.Context())
	if err != nil || pending < 2 {
		t.Fatalf("%d documents are pending, %v", pending, err)
	}
	for want := pending - 1; want >= 0; want-- {
		if left, err := s.files[0].indexSome(t.Context(), 1); err != nil || left != want {
			t.Fatalf("%d are left after a step of one document, want %d, %v", left, want, err)
		}
	}
}

// A file whose last document is not the last that it has, as where a disk has changed
// what leads to it, is damaged: nothing is gained by trying to index it for ever.
func TestIndexEndsWhereDamageHidesWhatIsPending(t *testing.T) {
	for _, damage := range []string{
		"UPDATE documents SET chunks = 0 WHERE id = (SELECT max(id) FROM documents)",
		"UPDATE documents SET chunks = -1000 WHERE id = (SELECT max(id) FROM documents)",
	} {
		dir := filepath.Join(t.TempDir(), "shards")
		if err := CreateShared(dir, 1); err != nil {
			t.Fatal(err)
		}
		s := openTestShared(t, dir)
		entries := generated(t, 3)
		put1(t, s, entries[:2]...)
		if _, err := s.Store(t.Context(), entries[2:]); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		tamper(t, filepath.Join(dir, "00.db"), damage)
		s = openTestShared(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		err := s.Index(ctx, func(int) {
			if steps++; steps == 10 {
				cancel()
			}
		})
		if cancel(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "00.db") {
			t.Errorf("%s: %v after %d steps", damage, err, steps)
		}
		if d := s.Damage(); len(d) != 1 {
			t.Errorf("%s: status tells of %v", damage, d)
		}
	}
}
