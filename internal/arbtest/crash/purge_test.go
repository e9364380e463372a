package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
	"arborist/shard"
)

// others is how many documents the corpus of somebody else lists that no other has.
const others = 8

// An other is a corpus of somebody else: the same in the program and in its check.
type other struct {
	signer  *proof.Signer
	entries []document.Entry // the last is the first document of our own corpus as well
	lines   [][]byte
	note    []byte
}

func newOther() (*other, error) {
	o := &other{}
	var err error
	if o.signer, err = proof.NewSigner("12D3KooWOther/main", [32]byte{7}); err != nil {
		return nil, err
	}
	for i := range others {
		text := fmt.Sprintf("# Other %d\n\n%s\n\nThe end of it is other%dend.", i, strings.Repeat(fmt.Sprintf("Somebody else tells of %d. ", i), 90), i)
		d, err := document.New([]byte(text))
		if err != nil {
			return nil, err
		}
		o.entries = append(o.entries, document.Entry{Document: d})
	}
	o.entries = append(o.entries, document.Entry{Document: batch(0, false)[0].Document})
	var leaves []merkle.Hash
	for i := range o.entries {
		l := &o.entries[i].Location
		l.URI, l.Corpus, l.FetchedAt = fmt.Sprintf("https://example.net/%d", i), o.signer.Name(), time.Unix(1700000000, 0).UTC()
		line, err := proof.NewRecord(o.entries[i].Document.Header(), *l, document.ID{}).Line()
		if err != nil {
			return nil, err
		}
		o.lines, leaves = append(o.lines, line), append(leaves, merkle.LeafHash(line))
	}
	head := proof.Checkpoint{Origin: o.signer.Name(), Size: uint64(len(leaves)), Root: merkle.Root(leaves)}
	o.note, err = proof.SignCheckpoint(head, o.signer)
	return o, err
}

// follow brings all of it: the documents first, as a sync does.
func (o *other) follow(ctx context.Context, s *stores) error {
	if _, err := s.shared.Corpora().Follow(ctx, o.signer.Verifier()); err != nil {
		return err
	}
	if _, err := s.shared.Put(ctx, o.entries); err != nil {
		return err
	}
	_, err := s.shared.Corpora().Extend(ctx, o.signer.Name(), o.note, o.lines)
	return err
}

func (o *other) unsync(ctx context.Context, s *stores) error {
	if err := s.shared.Corpora().Forget(ctx, o.signer.Name()); err != nil {
		return err
	}
	_, err := s.shared.WithdrawAll(ctx, o.signer.Name())
	return err
}

func (o *other) purge(ctx context.Context, s *stores) error {
	_, err := s.shared.Purge(ctx, o.signer.Name(), false, func(int, int) {})
	return err
}

// withdrawn is the place of the document that is withdrawn from the own corpus.
const withdrawn = "https://example.org/0"

// drop is the part of the program that takes out what it has stored:
//
//	followed, unsynced, purged: the corpus of somebody else
//	withdrawn: what our own corpus has at a place
//	compacted: all files
func (w *worker) drop(ctx context.Context, peerID string) error {
	s, err := openStores(w.home, peerID)
	if err != nil {
		return err
	}
	o, err := newOther()
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"followed", func() error { return o.follow(ctx, s) }},
		{"withdrawn", func() error { return s.publisher.Withdraw(ctx, []string{withdrawn}, time.Unix(1700000000, 0)) }},
		{"unsynced", func() error { return o.unsync(ctx, s) }},
		{"purged", func() error { return o.purge(ctx, s) }},
		{"followed", func() error { return o.follow(ctx, s) }},
		{"unsynced", func() error { return o.unsync(ctx, s) }},
		{"purged", func() error { return o.purge(ctx, s) }},
		{"compacted", func() error {
			ignore := func(shard.Compacted) {}
			return errors.Join(s.shared.Compact(ctx, ignore), s.private.File().Compact(ctx, ignore))
		}},
	} {
		if err == nil {
			err = step.do()
		}
		if err == nil {
			w.ack("%s", step.name)
		}
	}
	return errors.Join(err, s.close())
}

// checkDropped holds a home to what was acknowledged of the corpus of somebody else.
// What comes after the last word may have begun.
func (s *stores) checkDropped(ctx context.Context, t told) error {
	o, err := newOther()
	if err != nil {
		return err
	}
	info, err := s.shared.Corpora().Lookup(ctx, o.signer.Name())
	if t.drops > 0 && (err != nil || info.Key != o.signer.Verifier().String()) {
		return fmt.Errorf("%w: the pinned key: %+v, %w", errLost, info, err)
	}
	if info.Size != 0 && info.Size != uint64(len(o.lines)) {
		return fmt.Errorf("%w: %d of %d records are listed", errTorn, info.Size, len(o.lines))
	}
	listed, there, found := info.Size > 0, 0, 0
	for i, e := range o.entries[:others] {
		d, err := s.shared.Document(ctx, e.Document.Root())
		if err == nil && !bytes.Equal(d.Text(), e.Document.Text()) {
			err = errTorn
		}
		if err == nil {
			there++
		} else if !errors.Is(err, shard.ErrNotFound) {
			return fmt.Errorf("%w: document %d of the corpus that goes: %w", errTorn, i, err)
		}
		res, err := s.shared.Search(ctx, shard.Query{Text: fmt.Sprintf("other%dend", i), Limit: 1})
		if err != nil {
			return fmt.Errorf("%w: %w", errTorn, err)
		}
		found += len(res.Hits)
	}
	ok := false
	switch last := t.drops == 6; t.dropped {
	case "": // it may be listed, once all of it is there
		ok = !listed || there == others
	case "followed":
		ok = there == others && (!listed || found == others)
	case "unsynced":
		ok = !listed && found == 0
	case "purged":
		ok = last && !listed && there+found == 0 || !last && (!listed || there == others)
	}
	if !ok {
		return fmt.Errorf("%w: %d times, the last one %s: listed %t, %d documents are there, %d are found", errTorn, t.drops, t.dropped, listed, there, found)
	}
	if !t.withdrawn {
		return nil
	}
	versions, err := s.shared.History(ctx, withdrawn)
	if err != nil || slices.ContainsFunc(versions, func(v shard.Version) bool { return v.Current }) {
		return fmt.Errorf("%w: withdrawn and current: %+v, %w", errLost, versions, err)
	}
	return nil
}

// dropsAgain takes up what was cut, and demands that it comes to its end: nothing is
// left of the corpus but what our own has, and it can be followed again.
func (s *stores) dropsAgain(ctx context.Context) error {
	o, err := newOther()
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, *stores) error{o.follow, o.unsync, o.purge} {
		if err := step(ctx, s); err != nil {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
	}
	for i, e := range o.entries {
		_, err := s.shared.Document(ctx, e.Document.Root())
		if gone := errors.Is(err, shard.ErrNotFound); gone != (i < others) {
			return fmt.Errorf("%w: document %d after the purge: %w", errTorn, i, err)
		}
	}
	if err := o.follow(ctx, s); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	if err := holds(ctx, s.shared, o.entries); err != nil {
		return fmt.Errorf("%w: followed again: %w", errLost, err)
	}
	return nil
}

// wall fails where a private document is in the shards.
func (s *stores) wall(ctx context.Context, numbers []int) error {
	for _, n := range numbers {
		for _, e := range batch(n, true) {
			has, err := s.shared.Has(ctx, []document.Root{e.Document.Root()})
			if err != nil || has[0] {
				return fmt.Errorf("%w: a private document is in the shards, or %w", errTorn, err)
			}
		}
	}
	return nil
}

// TestPowerCutInAPurgeTakesNothingElse is the promise of threat 33 for the verbs that
// take something out: what is acknowledged as gone is gone, what is not gone is whole,
// nothing else is touched, and the call again comes to its end.
func TestPowerCutInAPurgeTakesNothingElse(t *testing.T) {
	n := number(t, imagesVariable, 80)
	log, trace := record(t, schedule{Shards: 2, Rounds: 1, Drop: true})
	sum := replay(t, log, n, uint64(number(t, seedVariable, 1)), nil)
	t.Logf("%v; %d ops and %d acknowledgements recorded; by mode %v", sum, len(log.Ops), len(log.Acks(len(log.Ops))), sum.modes)
	for _, f := range sum.faults {
		t.Error(f)
	}
	if len(sum.faults) > 0 {
		keep(t, trace)
	}
}
