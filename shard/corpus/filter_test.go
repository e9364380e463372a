package corpus

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"arborist/document/filter"
	"arborist/merkle"
	"arborist/proof"
)

// filterOf returns the filter that is kept of a corpus.
func filterOf(t *testing.T, s *Store, origin string) (head proof.FilterHead, note, raw []byte, f *filter.Filter) {
	t.Helper()
	head, note, err := s.Filter(t.Context(), origin)
	if err == nil {
		raw, err = s.FilterBytes(t.Context(), origin, head.Sum)
	}
	if err == nil {
		f, err = filter.Parse(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return head, note, raw, f
}

func TestAFilterHoldsWhatTheLogListsNowOrDid(t *testing.T) {
	ctx, signer := t.Context(), testSigner(t, "main", 1)
	s := own(t, signer, 0)
	if err := s.MakeFilter(ctx, signer.Name(), signer); err != nil {
		t.Errorf("of an empty log: %v", err)
	}
	if _, _, err := s.Filter(ctx, signer.Name()); !errors.Is(err, ErrNotFound) {
		t.Errorf("an empty log has a filter: %v", err)
	}
	recs := append(numbered(300, 0), listed("https://example.org/7", "in place of 7"), withdrawal("https://example.org/8"), listed("https://example.org/x", "content 9"))
	if _, err := s.Append(ctx, signer.Name(), signer, recs); err != nil {
		t.Fatal(err)
	}
	// Another corpus in the same file is not in it.
	other := testSigner(t, "other", 1)
	if _, err := s.Create(ctx, "other", other.Verifier()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, other.Name(), other, []proof.Record{listed("https://example.org/o", "of another corpus")}); err != nil {
		t.Fatal(err)
	}
	if err := s.MakeFilter(ctx, signer.Name(), signer); err != nil {
		t.Fatal(err)
	}
	head, note, raw, f := filterOf(t, s, signer.Name())
	info, err := s.Lookup(ctx, "main")
	if err != nil || head.Head.Size != 303 || head.Head.Root != info.Root || f.Roots() != 301 {
		t.Fatalf("it is of %d records and %d roots, %v; want 303 and 301", head.Head.Size, f.Roots(), err)
	}
	if signed, err := proof.OpenFilter(note, signer.Verifier()); err != nil || signed != head {
		t.Errorf("the note says %+v, %v", signed, err)
	}
	for _, r := range recs {
		if r.Op != proof.OpWithdraw && !f.MayHold(r.Header.Root) {
			t.Errorf("%s is denied", r.URI)
		}
	}
	for _, content := range []string{"of another corpus", "nowhere"} {
		if f.MayHold(header(content).Root) {
			t.Errorf("%q is not denied", content)
		}
	}
	if err := s.MakeFilter(ctx, signer.Name(), signer); err != nil {
		t.Fatal(err)
	}
	if _, again, sameRaw, _ := filterOf(t, s, signer.Name()); !bytes.Equal(again, note) || !bytes.Equal(sameRaw, raw) {
		t.Error("made again it is another one")
	}
	if _, err := s.FilterBytes(ctx, signer.Name(), merkle.Hash{1}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a filter of another sum: %v", err)
	}
	if err := s.MakeFilter(ctx, signer.Name(), testSigner(t, "main", 2)); !errors.Is(err, ErrKey) {
		t.Errorf("by another key: %v", err)
	}
	if _, err := s.Append(ctx, signer.Name(), signer, numbered(1, 900)); err != nil {
		t.Fatal(err)
	}
	if head, _, _, _ := filterOf(t, s, signer.Name()); head.Head.Size != 303 {
		t.Errorf("an append alone made the filter of %d records", head.Head.Size)
	}
	if err := s.MakeFilter(ctx, signer.Name(), signer); err != nil {
		t.Fatal(err)
	}
	if head, _, _, _ := filterOf(t, s, signer.Name()); head.Head.Size != 304 {
		t.Errorf("made anew it is of %d records, want 304", head.Head.Size)
	}
	checkClean(t, s)
}

func TestAFollowerKeepsTheFilterOfItsLogAndNoOther(t *testing.T) {
	ctx, m := t.Context(), newModel(t, "main")
	for _, r := range numbered(20, 0) {
		m.put(r)
	}
	publisher := own(t, m.signer, 20)
	if err := publisher.MakeFilter(ctx, m.origin(), m.signer); err != nil {
		t.Fatal(err)
	}
	good, goodNote, raw, _ := filterOf(t, publisher, m.origin())
	follow := func() *Store {
		s := newStore(t)
		if _, err := s.Follow(ctx, m.signer.Verifier()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ExtendFrom(ctx, m.origin(), m.note(20), m.from(20)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	var less filter.Builder
	less.Add(header("content 1").Root)
	small, err := less.Filter()
	if err != nil {
		t.Fatal(err)
	}
	sign := func(head proof.Checkpoint, b []byte, by byte) []byte {
		note, err := proof.SignFilter(proof.FilterHead{Head: head, Sum: proof.SumFilter(b)}, testSigner(t, "main", by))
		if err != nil {
			t.Fatal(err)
		}
		return note
	}
	for _, c := range []struct {
		name      string
		note, raw []byte
		want      error
	}{
		{"by another key", sign(good.Head, raw, 2), raw, proof.ErrUnknownKey},
		{"other bytes than are signed", goodNote, small.Bytes(), ErrMismatch},
		{"no filter", sign(good.Head, []byte("hello"), 1), []byte("hello"), filter.ErrFormat},
		{"of more records than are here", sign(proof.Checkpoint{Origin: m.origin(), Size: 21, Root: good.Head.Root}, raw, 1), raw, ErrMismatch},
		{"of another history", sign(proof.Checkpoint{Origin: m.origin(), Size: 20, Root: merkle.Hash{1}}, raw, 1), raw, ErrMismatch},
		{"that denies what is listed", sign(good.Head, small.Bytes(), 1), small.Bytes(), ErrMismatch},
		{"a checkpoint", m.note(20), raw, proof.ErrFormat},
	} {
		s := follow()
		if err := s.KeepFilter(ctx, m.origin(), c.note, c.raw); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if _, _, err := s.Filter(ctx, m.origin()); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: it is kept, %v", c.name, err)
		}
	}
	s := follow()
	if err := s.KeepFilter(ctx, m.origin(), goodNote, raw); err != nil {
		t.Fatal(err)
	}
	if err := s.KeepFilter(ctx, m.origin(), sign(m.head(2), raw, 1), raw); err != nil {
		t.Errorf("an older one: %v", err)
	}
	if head, note, kept, _ := filterOf(t, s, m.origin()); head != good || !bytes.Equal(note, goodNote) || !bytes.Equal(kept, raw) {
		t.Error("what is kept is not what the publisher made")
	}
	checkClean(t, s)
	if err := publisher.KeepFilter(ctx, m.origin(), goodNote, raw); !errors.Is(err, ErrOwn) {
		t.Errorf("of an own corpus: %v", err)
	}
	if err := s.Forget(ctx, m.origin()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Filter(ctx, m.origin()); !errors.Is(err, ErrNotFound) {
		t.Errorf("it is kept of a corpus that is not followed: %v", err)
	}
}

func TestAFilterByAReplacedKeyIsNone(t *testing.T) {
	ctx := context.Background()
	old, next := testSigner(t, "main", 1), testSigner(t, "main", 2)
	s := own(t, old, 5)
	if err := s.MakeFilter(ctx, old.Name(), old); err != nil {
		t.Fatal(err)
	}
	rotated(t, s, old, next)
	if _, _, err := s.Filter(ctx, old.Name()); !errors.Is(err, ErrNotFound) {
		t.Errorf("filter by the old key: %v", err)
	}
	checkClean(t, s)
	if err := s.MakeFilter(ctx, old.Name(), next); err != nil {
		t.Fatal(err)
	}
	if _, note, _, _ := filterOf(t, s, old.Name()); note == nil {
		t.Error("the new key has signed none")
	}
}

func TestCheckFindsADamagedFilter(t *testing.T) {
	ctx, signer := context.Background(), testSigner(t, "main", 1)
	s := own(t, signer, 9)
	if err := s.MakeFilter(ctx, signer.Name(), signer); err != nil {
		t.Fatal(err)
	}
	db := raw(t, s.path)
	execute(t, db, "UPDATE filter SET bytes = zeroblob(length(bytes))")
	db.Close()
	problems := 0
	if _, err := s.Check(ctx, func(string) { problems++ }); err != nil || problems != 1 {
		t.Errorf("%d problems, %v; want 1", problems, err)
	}
}
