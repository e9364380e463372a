package shard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/document"
	"arborist/merkle"
)

func TestEveryHitCarriesItsProof(t *testing.T) {
	s := newShared(t, 4)
	docs := generated(t, 40)
	long := strings.Repeat("A paragraph about badgers and their setts, told at length.\n\n", 400)
	docs = append(docs, entry(t, "test:long", long))
	put1(t, s, docs...)
	for _, q := range []string{"badgers", inventedWord(1), inventedWord(2) + " " + inventedWord(9)} {
		r, err := s.Search(t.Context(), Query{Text: q, Limit: 50})
		if err != nil || len(r.Hits) == 0 {
			t.Fatalf("%q: %d hits, %v", q, len(r.Hits), err)
		}
		for _, h := range r.Hits {
			p := h.Passage
			if h.Root != p.Header.Root || h.Index != p.Index {
				t.Errorf("hit and passage differ: %+v", h)
			}
			if err := merkle.VerifyInclusion(merkle.LeafHash(p.Text), p.Index, p.Header.Chunks, p.Path, h.Root.Hash()); err != nil {
				t.Errorf("%s: %v", h.Location.URI, err)
			}
			again, err := s.Passage(t.Context(), h.Root, h.Index)
			if err != nil || string(again.Text) != string(p.Text) {
				t.Errorf("read again: %v", err)
			}
		}
	}
}

func TestSearchSeesOneStateOfEachFile(t *testing.T) {
	set, docs := newShared(t, 4), generated(t, 40)
	put1(t, set, docs[:20]...)
	s := new(search)
	if err := s.begin(t.Context(), set.files); err != nil {
		t.Fatal(err)
	}
	put1(t, set, docs[20:]...)
	stored := func() (sum int) {
		for _, p := range s.parts {
			var n int
			if err := p.tx.QueryRowContext(t.Context(), "SELECT count(*) FROM documents").Scan(&n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		return sum
	}
	for range 2 { // the second reads after a statement has ended
		if n := stored(); n != 20 {
			t.Errorf("a search sees %d documents, 20 were there when it began", n)
		}
	}
	s.end()
	for _, f := range set.files {
		if busy := f.reader.Stats().InUse; busy != 0 {
			t.Errorf("%s: %d connections are held after the end", f.path, busy)
		}
	}
	if st, err := set.Stats(t.Context()); err != nil || st.Documents != 40 {
		t.Errorf("%d documents after it, %v", st.Documents, err)
	}
}

func TestPagesJoinToTheWholeList(t *testing.T) {
	s := newShared(t, 4)
	put1(t, s, generated(t, 60)...)
	q := Query{Text: inventedWord(0) + " " + inventedWord(3), Limit: 200}
	whole, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var joined []Hit
	for q.Limit = 7; q.Offset < whole.Total; q.Offset += 7 {
		r, err := s.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		joined = append(joined, r.Hits...)
	}
	if len(joined) != len(whole.Hits) || len(joined) != whole.Total {
		t.Fatalf("pages have %d hits, the whole list %d of %d", len(joined), len(whole.Hits), whole.Total)
	}
	for i := range joined {
		if joined[i].Root != whole.Hits[i].Root || joined[i].Index != whole.Hits[i].Index || joined[i].Score != whole.Hits[i].Score {
			t.Errorf("hit %d differs", i)
		}
	}
	if r, err := s.Search(t.Context(), Query{Text: q.Text, Offset: 9000, Limit: 10}); err != nil || len(r.Hits) != 0 || r.Total != whole.Total {
		t.Errorf("past the end: %d hits of %d, %v", len(r.Hits), r.Total, err)
	}
}

// A damaged chunk of our own is never a hit, and not passed over in silence.
func TestDamagedPassageIsAnErrorThatNamesTheFile(t *testing.T) {
	for name, script := range map[string]string{
		"text":   "UPDATE texts SET data = CAST(x'011b00' || 'some forged text about owls' AS BLOB)",
		"leaves": "UPDATE leaves SET hashes = randomblob(length(hashes))",
		"root":   "UPDATE documents SET root = randomblob(32)",
		"count":  "UPDATE documents SET chunks = chunks + 1 WHERE visible = 1",
		"chunk":  "DELETE FROM texts",
	} {
		path := donor(t, KindPrivate)
		tamper(t, path, script)
		f, err := OpenFile(path, KindPrivate, "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := Search(t.Context(), []*File{f}, Query{Text: "owl"})
		var fe *FileError
		if len(r.Hits) != 0 || !errors.Is(err, ErrCorrupt) || !errors.As(err, &fe) || fe.Path != path {
			t.Errorf("%s: %d hits, %v", name, len(r.Hits), err)
		}
		var lines []string
		if _, err := f.Check(t.Context(), func(p string) { lines = append(lines, p) }); err != nil {
			t.Errorf("%s: check: %v", name, err)
		}
		if len(lines) == 0 || !strings.HasPrefix(lines[0], path+": ") {
			t.Errorf("%s: check said %q", name, lines)
		}
	}
}

func TestCheckFindsEveryKindOfDamage(t *testing.T) {
	template := donor(t, KindPrivate)
	for name, c := range map[string]struct{ script, want string }{
		"page of garbage":     {"", "malformed"},
		"index row":           {"DELETE FROM postings WHERE id = 1", "its index lacks row 1"},
		"index":               {"UPDATE postings SET data = zeroblob(length(data)) WHERE id = 1", "index is damaged"},
		"counts":              {"DELETE FROM segments WHERE negative = 1", "hidden, or leaves out"},
		"segment":             {"DELETE FROM segments WHERE negative = 0 AND first = 1", "the index lacks chunk 1"},
		"words of a document": {"UPDATE documents SET words = words + 1 WHERE id = 1", "its row says"},
		"counters":            {"UPDATE state SET words = 1", "counters"},
		"chunk of nothing":    {"INSERT INTO texts VALUES (77, x'00')", "the text from chunk 77 on is in no document"},
		"hidden":              {"UPDATE documents SET visible = 0 WHERE id = 1", "visible is wrong for document row 1"},
		"foreign key":         {"DELETE FROM origins", "foreign key"},
		"place":               {"UPDATE locations SET uri = 'test:other' WHERE id = 1", "place of another"},
		"two current":         {"UPDATE locations SET current = 1", "is current and not the newest"},
	} {
		path := copied(t, template)
		if c.script != "" {
			tamper(t, path, c.script)
		} else {
			tamper(t, path, "VACUUM")
			patch(t, path, 4096*6, []byte(strings.Repeat("\xa5", 4096)))
		}
		f, err := OpenFile(path, KindPrivate, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer f.Close()
		var lines []string
		if _, err := f.Check(t.Context(), func(p string) { lines = append(lines, p) }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(strings.Join(lines, "\n"), c.want) {
			t.Errorf("%s: check said %q, not %q", name, lines, c.want)
		}
	}
	lying := copied(t, template)
	reindex(t, lying, map[int64]string{3: "The owl hunts in the old forest, and sees well at noon."})
	if f, err := OpenFile(lying, KindPrivate, ""); err != nil {
		t.Error(err)
	} else {
		defer f.Close()
		var lines []string
		if _, err := f.Check(t.Context(), func(p string) { lines = append(lines, p) }); err != nil || !strings.Contains(strings.Join(lines, "\n"), "words of the texts") {
			t.Errorf("another word in the index: check said %q, %v", lines, err)
		}
	}
	s := newShared(t, 2)
	e := entry(t, "test:a", "belongs elsewhere")
	put1(t, s, e)
	stray := s.files[1-route(e.Document.Root(), 2)]
	stray.total = 1 // lets it take any document
	put1(t, stray, e)
	stray.total = 2
	found := false
	if _, err := s.Check(t.Context(), func(p string) { found = found || strings.Contains(p, "belongs into shard") }); err != nil || !found {
		t.Errorf("a document in the wrong shard was not reported, %v", err)
	}
}

func TestCancelledSearchStopsAndLeavesNothingOpen(t *testing.T) {
	s := newShared(t, 4)
	var docs []document.Entry
	for i := range 1500 {
		docs = append(docs, entry(t, fmt.Sprintf("test:%d", i), fmt.Sprintf("the same common words in all of them, %d", i)))
	}
	put1(t, s, docs...)
	query := Query{Text: "the same common words in all of them", Limit: 1000}
	var whole, late []time.Duration
	for i := range 60 {
		if i%4 == 0 {
			began := time.Now()
			if _, err := s.Search(t.Context(), query); err != nil {
				t.Fatal(err)
			}
			whole = append(whole, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*slices.Min(whole)/120)
		_, err := s.Search(ctx, query)
		if err != nil {
			late = append(late, time.Since(deadline(ctx)))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %d steps: %v", i, err)
			}
		}
		cancel()
		for _, f := range s.files {
			if n := f.reader.Stats().InUse; n != 0 {
				t.Fatalf("%d connections of %s are still in use", n, f.path)
			}
		}
	}
	if len(late) == 0 {
		t.Fatal("no search was cancelled")
	}
	// Beside others that are as busy: what does not stop goes on for half its time or more.
	slices.Sort(late)
	slices.Sort(whole)
	t.Logf("%d of 60 stopped, half of them within %s; a whole search takes %s", len(late), late[len(late)/2], whole[len(whole)/2])
	if 2*late[len(late)/2] > whole[len(whole)/2] {
		t.Errorf("half of them went on for over %s, a whole search takes %s", late[len(late)/2], whole[len(whole)/2])
	}
	if r, err := s.Search(t.Context(), Query{Text: "common words"}); err != nil || r.Total < 1500 {
		t.Errorf("after all that: %d in total, %v", r.Total, err)
	}
}

func deadline(ctx context.Context) time.Time {
	d, _ := ctx.Deadline()
	return d
}

// More searches than connections, over the same files in different orders.
func TestSearchesNeverWaitForEachOtherForEver(t *testing.T) {
	s := newShared(t, 4)
	private := newPrivate(t)
	put1(t, s, generated(t, 40)...)
	put1(t, private, generated(t, 20)...)
	forwards := append(s.files, private)
	backwards := []*File{private, s.files[3], s.files[1], s.files[2], s.files[0]}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 3 * maxReaders {
		wg.Go(func() {
			files := forwards
			if i%2 == 1 {
				files = backwards
			}
			for range 5 {
				if _, err := Search(ctx, files, Query{Text: inventedWord(uint64(i)) + " " + inventedWord(1)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestSearchSeesOneStateWhileDocumentsComeAndGo(t *testing.T) {
	s, private := newShared(t, 2), newPrivate(t)
	for _, p := range []putter{s, private} {
		put1(t, p, entry(t, "test:a", "badger zero"))
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, p := range []putter{s, private} {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				put1(t, p, entry(t, "test:a", fmt.Sprintf("badger %d", i%3)))
			}
		})
	}
	files := append(s.files, private)
	for range 150 {
		r, err := Search(t.Context(), files, Query{Text: "badger"})
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[document.Root]bool)
		for _, h := range r.Hits {
			if seen[h.Root] {
				t.Fatal("one document twice in a result")
			}
			seen[h.Root] = true
		}
		if len(r.Hits) != r.Total {
			t.Fatalf("%d hits of %d", len(r.Hits), r.Total)
		}
	}
	close(done)
	wg.Wait()
}

func TestUnknownRootsAreNotFound(t *testing.T) {
	s := newShared(t, 4)
	e := entry(t, "test:a", "known")
	put1(t, s, e)
	unknown := newDocument(t, "unknown").Root()
	if _, err := s.Document(t.Context(), unknown); !errors.Is(err, ErrNotFound) {
		t.Errorf("document: %v", err)
	}
	if _, err := s.Passage(t.Context(), unknown, 0); !errors.Is(err, ErrNotFound) {
		t.Errorf("passage: %v", err)
	}
	for _, index := range []uint64{1, 1 << 63, 1<<64 - 1} {
		if _, err := s.Passage(t.Context(), e.Document.Root(), index); !errors.Is(err, ErrNotFound) {
			t.Errorf("passage %d: %v", index, err)
		}
	}
	has, err := s.Has(t.Context(), []document.Root{unknown, e.Document.Root(), {}, unknown})
	if err != nil || fmt.Sprint(has) != "[false true false false]" {
		t.Errorf("has %v, %v", has, err)
	}
	if at, err := s.Locations(t.Context(), unknown); err != nil || len(at) != 0 {
		t.Errorf("locations %v, %v", at, err)
	}
	if at, err := s.History(t.Context(), "test:unknown"); err != nil || len(at) != 0 {
		t.Errorf("history %v, %v", at, err)
	}
}

func TestPathsWithAnyCharactersOpen(t *testing.T) {
	for _, name := range []string{"a b", "what?x=1", "100%", "a#b", "ü", "mode=ro&immutable=1", "%2f", "'", "a;b"} {
		path := filepath.Join(t.TempDir(), name+".db")
		f, err := OpenFile(path, KindPrivate, "")
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		put1(t, f, entry(t, "test:a", "text"))
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if f, err = OpenForeign(path); err != nil {
			t.Errorf("%q again: %v", name, err)
			continue
		}
		f.Close()
	}
}
