package shard

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/document"
	"arborist/proof"
)

// goneOrigin is a corpus that was followed, and is no longer.
const goneOrigin = "12D3KooWGone/main"

// followed gives entries places in a corpus.
func followed(origin string, entries ...document.Entry) []document.Entry {
	for i := range entries {
		entries[i].Location.Corpus = origin
	}
	return entries
}

func nothing(int, int) {}

func purge(t *testing.T, s *Shared, dry bool) Purged {
	t.Helper()
	p, err := s.Purge(t.Context(), goneOrigin, dry, nothing)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func has(t *testing.T, s *Shared, entries ...document.Entry) (there int) {
	t.Helper()
	for _, e := range entries {
		ok, err := s.Has(t.Context(), []document.Root{e.Document.Root()})
		if err != nil {
			t.Fatal(err)
		}
		if ok[0] {
			there++
		}
	}
	return there
}

// gone makes a set in which a corpus was followed that had n pages of its own
// and some that other corpora hold, each in its own way.
func gone(t *testing.T, shards, n int) (dir string, own, held []document.Entry) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "shards")
	if err := CreateShared(dir, shards); err != nil {
		t.Fatal(err)
	}
	s, err := OpenShared(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range n {
		own = append(own, page(1000+i)) // some of them supersede others
	}
	mine := newPublisher(t, s)
	for i := range 12 {
		held = append(held, page(i))
	}
	if _, err := mine.Put(t.Context(), append([]document.Entry(nil), held[:3]...)); err != nil { // own and current
		t.Fatal(err)
	}
	put1(t, s, followed("12D3KooWOther/main", append([]document.Entry(nil), held[3:6]...)...)...) // followed, or being synced for the first time
	replaced := page(50 + 6)                                                                      // takes the place of held[6], which is a version then
	if _, err := mine.Put(t.Context(), []document.Entry{held[6], replaced}); err != nil {
		t.Fatal(err)
	}
	put1(t, s, held[7:9]...) // of no corpus
	put1(t, s, followed(goneOrigin, append(append([]document.Entry(nil), held...), own...)...)...)
	// A log alone may hold one, whatever became of its place, and what it has
	// withdrawn too.
	var records []proof.Record
	for _, e := range held[9:] {
		e.Location.Corpus = ""
		records = append(records, proof.NewRecord(e.Document.Header(), e.Location, document.ID{}))
	}
	records = append(records, proof.Record{Op: proof.OpWithdraw, URI: held[11].Location.URI, FetchedAt: fetched})
	signer, err := proof.NewSigner(testOrigin, [32]byte{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.corpora.Append(t.Context(), testOrigin, signer, records); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WithdrawAll(t.Context(), goneOrigin); err != nil {
		t.Fatal(err)
	}
	return dir, own, held
}

func TestPurgeDropsWhatCameWithACorpusAloneAndNothingElse(t *testing.T) {
	dir, own, held := gone(t, 4, 40)
	s := openTestShared(t, dir)
	before, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	would := purge(t, s, true)
	if has(t, s, own...) != len(own) {
		t.Fatal("a dry run dropped documents")
	}
	p := purge(t, s, false)
	after, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := has(t, s, own...); n != 0 {
		t.Errorf("%d of %d documents of the corpus are still there", n, len(own))
	}
	if n := has(t, s, held...); n != len(held) {
		t.Errorf("%d of %d documents that something else holds are left", n, len(held))
	}
	if p.Documents != int64(len(own)) || p.Kept != int64(len(held)) || p.Bytes != int64(before.Bytes-after.Bytes) || p.Chunks != int64(before.Chunks-after.Chunks) {
		t.Errorf("purged %+v; stats %+v, then %+v", p, before, after)
	}
	if would.Documents != p.Documents || would.Bytes != p.Bytes || would.Kept != p.Kept || would.Before != would.After {
		t.Errorf("a dry run said %+v, then it was %+v", would, p)
	}
	if p.After >= p.Before || p.After == 0 {
		t.Errorf("the files have %d bytes, had %d", p.After, p.Before)
	}
	for _, e := range own {
		at, err := s.History(t.Context(), e.Location.URI)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range at {
			byLog := slices.ContainsFunc(held[9:], func(e document.Entry) bool { return e.Document.Root() == v.Root })
			if v.Location.Corpus == goneOrigin && !byLog {
				t.Errorf("a place of the corpus stays: %+v", v)
			}
		}
	}
	for _, e := range held[9:] { // that only a log lists
		if at, err := s.History(t.Context(), e.Location.URI); err != nil || len(at) == 0 {
			t.Errorf("%s has no place any more: %v", e.Location.URI, err)
		}
	}
	for range 2 { // again, and after the documents came back
		if again := purge(t, s, false); again.Documents != 0 || again.Before != again.After {
			t.Errorf("again it did %+v", again)
		}
	}
	if _, err := s.Purge(t.Context(), "12D3KooWNobody/main", false, nothing); err != nil {
		t.Errorf("purge of what was never here: %v", err)
	}
	put1(t, s, followed(goneOrigin, own...)...)
	if r, err := s.Search(t.Context(), Query{Text: "1007"}); err != nil || r.Total == 0 {
		t.Errorf("what came back is not found: %+v, %v", r, err)
	}
	unlisted := 0 // the log lists two without a place: the test made them so
	if _, err := s.Check(t.Context(), func(problem string) {
		if strings.Contains(problem, "is listed and not current") {
			unlisted++
			return
		}
		t.Errorf("check: %s", problem)
	}); err != nil || unlisted != 2 {
		t.Errorf("check: %v, and %d documents that are listed alone", err, unlisted)
	}
}

// Two corpora that were followed share documents: whoever is purged last takes
// them along.
func TestWhatTwoCorporaHadGoesWithTheLastOfThem(t *testing.T) {
	s := newShared(t, 2)
	both := page(1)
	for _, origin := range []string{goneOrigin, "12D3KooWSecond/main"} {
		put1(t, s, followed(origin, both)...)
		if _, err := s.WithdrawAll(t.Context(), origin); err != nil {
			t.Fatal(err)
		}
	}
	if p := purge(t, s, false); p.Kept != 1 || has(t, s, both) != 1 {
		t.Errorf("purged %+v, want it kept", p)
	}
	p, err := s.Purge(t.Context(), "12D3KooWSecond/main", false, nothing)
	if err != nil || p.Documents != 1 || has(t, s, both) != 0 {
		t.Errorf("purged %+v, %v, want it dropped", p, err)
	}
	mustCheck(t, s)
}

func TestPurgeRefusesWhatIsFollowedOrOwn(t *testing.T) {
	dir, own, _ := gone(t, 1, 5)
	s := openTestShared(t, dir)
	put1(t, s, followed(goneOrigin, own[0])...) // as a sync that has begun
	for _, origin := range []string{goneOrigin, testOrigin} {
		if p, err := s.Purge(t.Context(), origin, false, nothing); !errors.Is(err, ErrListed) {
			t.Errorf("purge of %s = %+v, %v, want ErrListed", origin, p, err)
		}
	}
	if n := has(t, s, own...); n != len(own) {
		t.Errorf("%d of %d documents are left", n, len(own))
	}
}

func TestPurgeOfADamagedFileChangesNothing(t *testing.T) {
	dir, own, held := gone(t, 1, 5)
	tamper(t, filepath.Join(dir, "00.db"), fmt.Sprintf("UPDATE texts SET data = zeroblob(9) WHERE id = (SELECT id FROM documents WHERE root = x'%x')", rootBytes(held[0])))
	s := openTestShared(t, dir)
	if p, err := s.Purge(t.Context(), goneOrigin, false, nothing); !errors.Is(err, ErrCorrupt) {
		t.Errorf("purge = %+v, %v, want ErrCorrupt", p, err)
	}
	if n := has(t, s, append(own, held...)...); n != len(own)+len(held) {
		t.Errorf("%d of %d documents are left", n, len(own)+len(held))
	}
}

func rootBytes(e document.Entry) []byte { r := e.Document.Root(); return r[:] }

func TestPurgeWhileOthersReadAndWrite(t *testing.T) {
	dir, own, held := gone(t, 2, 60)
	s := openTestShared(t, dir)
	want, err := s.Search(t.Context(), Query{Text: "number", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			got, err := s.Search(t.Context(), Query{Text: "number", Limit: 100})
			if err != nil || !reflect.DeepEqual(hitsOf(got), hitsOf(want)) {
				t.Errorf("a search meanwhile finds %v, %v, want %v", hitsOf(got), err, hitsOf(want))
				return
			}
		}
	})
	written := 0
	others.Go(func() {
		for ; ; written++ {
			select {
			case <-stop:
				return
			default:
			}
			e := entry(t, fmt.Sprintf("test:other%d", written), fmt.Sprintf("Something else, %d.", written))
			if _, err := s.Put(t.Context(), []document.Entry{e}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	p := purge(t, s, false)
	close(stop)
	others.Wait()
	if p.Documents != int64(len(own)) || has(t, s, held...) != len(held) {
		t.Errorf("purged %+v, %d of %d are left", p, has(t, s, held...), len(held))
	}
	for i := range written {
		if has(t, s, entry(t, "", fmt.Sprintf("Something else, %d.", i))) != 1 {
			t.Errorf("document %d was acknowledged and is lost", i)
		}
	}
}

func hitsOf(r Results) (all []string) {
	for _, h := range r.Hits {
		all = append(all, fmt.Sprint(h.Root, h.Index))
	}
	slices.Sort(all) // what is written meanwhile changes the ranking
	return all
}

// A purge that is killed at any time, and done again, ends as one that was not.
func TestKilledPurgeLosesNothingThatIsHeld(t *testing.T) {
	for round := range 6 {
		dir, own, held := gone(t, 2, 60)
		if _, problem := runChild(t, fmt.Sprintf("%s|%d", dir, jobPurge), time.Duration(1+round*40)*time.Millisecond); problem != "" {
			t.Fatal(problem)
		}
		s := openTestShared(t, dir)
		t.Logf("round %d: %d of %d are left", round, has(t, s, own...), len(own))
		if n := has(t, s, held...); n != len(held) {
			t.Errorf("round %d: %d of %d documents that are held are left", round, n, len(held))
		}
		purge(t, s, false)
		if n := has(t, s, own...); n != 0 {
			t.Errorf("round %d: %d documents of the corpus are left", round, n)
		}
		if n := has(t, s, held...); n != len(held) {
			t.Errorf("round %d: %d of %d documents that are held are left", round, n, len(held))
		}
		mustBeTidy(t, dir, 2)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
