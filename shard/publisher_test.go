package shard

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/document"
	"arborist/proof"
	"arborist/shard/corpus"
)

const testOrigin = "12D3KooWTest/main"

func newPublisher(t *testing.T, s *Shared) *Publisher {
	t.Helper()
	signer, err := proof.NewSigner(testOrigin, [32]byte{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Corpora().Create(t.Context(), "main", signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	return s.Publisher(testOrigin, signer)
}

func logOf(t *testing.T, s *Shared) (info corpus.Info, ops []proof.Op) {
	t.Helper()
	info, err := s.Corpora().Lookup(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size == 0 {
		return info, nil
	}
	records, err := s.Corpora().Records(t.Context(), testOrigin, 0, info.Size)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		ops = append(ops, r.Op)
		// Whatever is listed is there, with the header that the record names.
		if d, err := s.Document(t.Context(), r.Header.Root); err != nil || d.Header() != r.Header {
			t.Errorf("record for %s: %v", r.URI, err)
		}
	}
	return info, ops
}

func TestPublishedDocumentsAreStoredThenListed(t *testing.T) {
	s := newShared(t, 4)
	p := newPublisher(t, s)
	a, b, c := entry(t, "test:a", "alpha version"), entry(t, "test:b", "beta"), entry(t, "test:a", "gamma version")
	put1(t, p, a, b)
	out := put1(t, p, c)
	if out[0].Superseded != a.Document.Root() {
		t.Errorf("outcome %+v", out[0])
	}
	info, ops := logOf(t, s)
	if info.Documents != 2 || len(ops) != 3 || ops[2] != proof.OpSupersede {
		t.Errorf("log %+v with %v", info, ops)
	}
	r, err := s.Search(t.Context(), Query{Text: "version", Corpus: testOrigin})
	if err != nil || len(r.Hits) != 1 || r.Hits[0].Location.Corpus != testOrigin {
		t.Fatalf("%+v, %v", r, err)
	}
	part, err := s.Corpora().Prove(t.Context(), testOrigin, r.Hits[0].Root)
	if err != nil {
		t.Fatal(err)
	}
	h := r.Hits[0].Passage
	full := &proof.Proof{Chunk: proof.Inclusion{Index: h.Index, Path: h.Path}, Header: h.Header, Log: part, Text: h.Text}
	key, err := proof.ParseVerifier(info.Key)
	if err != nil {
		t.Fatal(err)
	}
	claim, err := proof.Verify(full, proof.Expect{Key: key})
	if err != nil || !claim.SignatureChecked || claim.Corpus != testOrigin && claim.Corpus != "main" {
		t.Errorf("claim %+v, %v", claim, err)
	}
}

func TestPublishingTheSameAgainWritesNotOneByte(t *testing.T) {
	s := newShared(t, 4)
	p := newPublisher(t, s)
	docs := generated(t, 12)
	put1(t, p, docs...)
	before := snapshot(t, s.Dir())
	for i := range docs {
		docs[i].Location.FetchedAt = docs[i].Location.FetchedAt.Add(time.Hour)
	}
	for _, o := range put1(t, p, docs...) {
		if !o.Unchanged {
			t.Errorf("outcome %+v", o)
		}
	}
	for name, bytes := range snapshot(t, s.Dir()) {
		if bytes != before[name] {
			t.Errorf("%s changed", name)
		}
	}
}

// A crash after the shards and before the log leaves documents that no record
// names; the same Put lists them.
func TestWhatACrashLeftUnlistedIsListedOnRedo(t *testing.T) {
	s := newShared(t, 4)
	p := newPublisher(t, s)
	a, b := entry(t, "test:a", "alpha"), entry(t, "test:a", "beta")
	put1(t, p, a)
	b.Location.Corpus = testOrigin
	put1(t, s, b) // the shards' half of a Put
	if info, _ := logOf(t, s); info.Size != 1 {
		t.Fatalf("log of %d", info.Size)
	}
	var lines []string
	if _, err := s.Check(t.Context(), func(p string) { lines = append(lines, p) }); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "stored and not listed") {
		t.Errorf("check said %q", lines)
	}
	if out := put1(t, p, b); !out[0].Unchanged {
		t.Errorf("outcome %+v", out[0])
	}
	mustCheck(t, s)
	if info, ops := logOf(t, s); info.Size != 2 || ops[1] != proof.OpSupersede || info.Documents != 1 {
		t.Errorf("log %+v with %v", info, ops)
	}
}

func TestWhatCannotBeListedIsNotStored(t *testing.T) {
	s := newShared(t, 2)
	p := newPublisher(t, s)
	for name, change := range map[string]func(*document.Entry){
		"another corpus":  func(e *document.Entry) { e.Location.Corpus = "other/main" },
		"no URI":          func(e *document.Entry) { e.Location.URI = "" },
		"no time":         func(e *document.Entry) { e.Location.FetchedAt = time.Time{} },
		"long source":     func(e *document.Entry) { e.Location.Source = strings.Repeat("s", 500) },
		"line of its own": func(e *document.Entry) { e.Location.URI = "a\u2028b" },
	} {
		e := entry(t, "test:a", "text")
		change(&e)
		if _, err := p.Put(t.Context(), []document.Entry{e}); !errors.Is(err, ErrLocation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := p.Put(t.Context(), []document.Entry{{}}); err == nil {
		t.Error("no document was taken")
	}
	if st, _ := s.Stats(t.Context()); st.Documents != 0 {
		t.Errorf("%d documents are stored", st.Documents)
	}
	// A corpus that is not there: documents come first, so they may stay; the
	// error says what is wrong.
	signer, _ := proof.NewSigner("12D3KooWTest/none", [32]byte{1})
	if _, err := s.Publisher("12D3KooWTest/none", signer).Put(t.Context(), []document.Entry{entry(t, "test:a", "text")}); !errors.Is(err, corpus.ErrNotFound) {
		t.Errorf("no such corpus: %v", err)
	}
}

func TestShardsAndLogAgreeAfterManyPublishersAtOnce(t *testing.T) {
	s := newShared(t, 4)
	p := newPublisher(t, s)
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			for i := range 6 {
				put1(t, p, entry(t, "test:contended", strings.Repeat("x", c+1)+" version "+strings.Repeat("y", i+1)))
			}
		})
	}
	wg.Wait()
	current, _ := currentRoot(t, s, "test:contended")
	listed, _, err := s.Corpora().Listed(t.Context(), current[0])
	if err != nil || len(listed) != 1 {
		t.Errorf("the current version is listed in %v, %v", listed, err)
	}
	if info, _ := logOf(t, s); info.Documents != 1 {
		t.Errorf("%d documents are listed, 1 is current", info.Documents)
	}
}

func TestWithdrawnDocumentIsHiddenUntilItIsPutAgain(t *testing.T) {
	s := newShared(t, 4)
	a := entry(t, "test:a", "alpha version")
	a.Location.Corpus = testOrigin
	put1(t, s, a)
	for range 2 {
		if err := s.Withdraw(t.Context(), testOrigin, "test:a"); err != nil {
			t.Fatal(err)
		}
	}
	if roots := found(t, s, "alpha"); len(roots) != 0 {
		t.Errorf("found %v", roots)
	}
	mustCheck(t, s)
	if out := put1(t, s, a); out[0] != (document.Outcome{}) {
		t.Errorf("outcome %+v", out[0])
	}
	if roots := found(t, s, "alpha"); len(roots) != 1 {
		t.Errorf("found %v", roots)
	}
	if all, err := s.History(t.Context(), "test:a"); err != nil || len(all) != 2 || !all[0].Current || all[1].SupersededBy != (document.Root{}) {
		t.Errorf("history %+v, %v", all, err)
	}
	mustCheck(t, s)
}
