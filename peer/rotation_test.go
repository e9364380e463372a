package peer

import (
	"errors"
	"testing"

	"arborist/proof"
)

// nextKey changes the key of a corpus of the node and returns both.
func (n *node) nextKey(name string) (old, next *proof.Signer) {
	n.t.Helper()
	old = n.signer(name)
	n.rotated++
	next = keyOf(n.t, n.origin(name), 40, n.rotated, n.id[10], n.id[20])
	if _, err := n.shared.Corpora().Rotate(n.t.Context(), n.origin(name), old, next); err != nil {
		n.t.Fatal(err)
	}
	n.signers[name] = next
	return old, next
}

func keyOf(t testing.TB, origin string, seed ...byte) *proof.Signer {
	t.Helper()
	var b [32]byte
	copy(b[:], seed)
	s, err := proof.NewSigner(origin, b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pinned demands that the node follows the corpus under this key.
func (n *node) pinned(origin string, key *proof.Signer, older int) {
	n.t.Helper()
	info, err := n.shared.Corpora().Lookup(n.t.Context(), origin)
	if err != nil || info.Key != key.Verifier().String() || len(info.Older) != older || info.Frozen {
		n.t.Fatalf("pinned %+v, %v; want %s after %d others", info, err, key.Verifier(), older)
	}
	if _, err := n.shared.Corpora().Check(n.t.Context(), func(p string) { n.t.Errorf("check: %s", p) }); err != nil {
		n.t.Fatal(err)
	}
}

// A corpus changes its key three times. One follower syncs each time, one only
// in the end, one from a follower, one starts new from a follower.
func TestFollowersFollowACorpusToItsNewKey(t *testing.T) {
	a, b, late, third, fresh := newNode(t).up(listenTCP), newNode(t).up(listenTCP), newNode(t).up(nil), newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "one", 3, 200)...)
	origin := a.origin("main")
	for _, n := range []*node{b, late, third} {
		n.sync(a.addr(), origin)
	}
	first := a.signer("main")

	// In the overlap both keys sign.
	old, second := a.nextKey("main")
	if _, err := a.shared.Publisher(origin, second, old).Put(t.Context(), entriesOf(t, "two", 3, 200)); err != nil {
		t.Fatal(err)
	}
	b.sync(a.addr(), origin)
	b.pinned(origin, second, 1)
	note, err := b.shared.Corpora().Note(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proof.OpenCheckpoint(note, first.Verifier()); err != nil {
		t.Errorf("the line of the old key is lost: %v", err)
	}
	third.sync(b.addr(), origin)
	third.pinned(origin, second, 1)

	// Two more rotations at one size, no record between.
	a.nextKey("main")
	_, fourth := a.nextKey("main")
	b.sync(a.addr(), origin)
	b.pinned(origin, fourth, 3)
	a.publish("main", entriesOf(t, "three", 3, 200)...)
	b.sync(a.addr(), origin)
	late.sync(b.addr(), origin)
	late.pinned(origin, fourth, 3)
	fresh.sync(b.addr(), origin)
	fresh.pinned(origin, fourth, 3)
	sameCorpus(t, a, fresh, "main")
	sameCorpus(t, a, late, "main")
	want, err := a.shared.Corpora().Rotations(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := fresh.shared.Corpora().Rotations(t.Context(), origin); err != nil || string(got) != string(want) {
		t.Errorf("the chain arrived as\n%s%v", got, err)
	}
	// A follower that lags serves the time before: stale, which accuses nobody.
	if _, err := fresh.peer.Sync(t.Context(), lagging(t, a, third), origin, nil); !errors.Is(err, ErrRollback) {
		t.Errorf("from a follower of an earlier key: %v", err)
	}
	fresh.pinned(origin, fourth, 3)
	fresh.keeps(origin, proof.Rollback)
}

// lagging serves the resources of a corpus as third has them.
func lagging(t *testing.T, a, third *node) string {
	files := make(published)
	id := mustCorpus(t, a.origin("main"))
	for _, k := range []kind{kindKey, kindCheckpoint, kindRotations} {
		r := resource{kind: k, corpus: id}
		var b []byte
		var err error
		switch store := third.shared.Corpora(); k {
		case kindKey:
			b, err = store.Statement(t.Context(), a.origin("main"))
		case kindCheckpoint:
			b, err = store.Note(t.Context(), a.origin("main"))
		default:
			b, err = store.Rotations(t.Context(), a.origin("main"))
		}
		if err != nil {
			t.Fatal(err)
		}
		files[r.path()] = b
	}
	return files.serve(t)
}

// Whoever has one of the two keys moves nobody, and neither does a rotation
// that the log or the chain does not bear out.
func TestOneStolenKeyMovesNobody(t *testing.T) {
	a := newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "one", 3, 200)...)
	origin, old := a.origin("main"), a.signer("main")
	corpusID := mustCorpus(t, origin)
	thief, other := keyOf(t, origin, 66), keyOf(t, origin, 67)
	head, _, err := a.shared.Corpora().Head(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	id, err := loadIdentity(a.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := loadIdentity(newNode(t).keyFile())
	if err != nil {
		t.Fatal(err)
	}
	statement := func(by identity, v *proof.Signer) []byte {
		by.id = id.id // what a thief would write
		b, err := by.statement(v.Verifier())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	rotation := func(at proof.Checkpoint, from, to *proof.Signer) []byte {
		r, err := proof.MakeRotation(at, from, to)
		if err != nil {
			t.Fatal(err)
		}
		return r.Note()
	}
	liar := head
	liar.Root[0] ^= 1
	forged := rotation(head, old, thief)
	// A letter of the signature for another one: a rotation that is in form.
	if at := len(forged) - 20; forged[at] == 'A' {
		forged[at] = 'B'
	} else {
		forged[at] = 'A'
	}
	for _, row := range []struct {
		name                 string
		statement, rotations []byte
		want                 error
	}{
		{"the corpus key alone", statement(stranger, thief), rotation(head, old, thief), ErrKey},
		{"the corpus key alone, the old statement", statement(id, old), rotation(head, old, thief), ErrTampered},
		{"the identity key alone", statement(id, thief), nil, ErrKey},
		{"the identity key, a rotation of other keys", statement(id, thief), rotation(head, other, thief), ErrKey},
		{"the identity key, a forged rotation", statement(id, thief), forged, ErrTampered},
		{"both, to another key than certified", statement(id, thief), rotation(head, old, other), ErrKey},
		{"both, a root that is not in the log", statement(id, thief), rotation(liar, old, thief), ErrEquivocation},
	} {
		b := newNode(t).up(nil)
		b.sync(a.addr(), origin)
		note, err := proof.SignCheckpoint(head, thief)
		if err != nil {
			t.Fatal(err)
		}
		files := published{
			resource{kind: kindKey, corpus: corpusID}.path():        row.statement,
			resource{kind: kindCheckpoint, corpus: corpusID}.path(): note,
		}
		if row.rotations != nil {
			files[resource{kind: kindRotations, corpus: corpusID}.path()] = row.rotations
		}
		_, err = b.peer.Sync(t.Context(), files.serve(t), origin, nil)
		var source *SourceError
		if !errors.Is(err, row.want) || !errors.As(err, &source) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if row.want == ErrEquivocation { // the old key has signed two histories
			if info, err := b.shared.Corpora().Lookup(t.Context(), origin); err != nil || !info.Frozen || info.Key != old.Verifier().String() {
				t.Errorf("%s: %+v, %v", row.name, info, err)
			}
			b.keeps(origin, proof.RotationHead)
			continue
		}
		b.pinned(origin, old, 0)
		b.sync(a.addr(), origin)
	}
}

// keeps demands that the node keeps one piece of evidence, of this kind, which
// its own keys and rotations verify.
func (n *node) keeps(origin string, kind proof.EvidenceKind) {
	n.t.Helper()
	store := n.shared.Corpora()
	kept, err := store.Evidence(n.t.Context(), origin)
	if err != nil || len(kept) != 1 || kept[0].Kind != kind {
		n.t.Fatalf("keeps %+v, %v; want one of the kind %s", kept, err, kind)
	}
	info, err := store.Lookup(n.t.Context(), origin)
	if err != nil {
		n.t.Fatal(err)
	}
	v, err := proof.ParseVerifier(info.Key)
	if err != nil {
		n.t.Fatal(err)
	}
	var chain []proof.Rotation
	if file, err := store.KnownRotations(n.t.Context(), origin); err == nil {
		if chain, err = proof.ParseRotations(file); err != nil {
			n.t.Fatal(err)
		}
	}
	if f, err := kept[0].Verify(v, chain...); err != nil {
		n.t.Errorf("%s: %+v, %v", kind, f, err)
	}
}

// Whoever has the key that was replaced, and the statement of its time, leads a
// fork. A follower that has moved sees it, keeps what shows it and goes on; one
// that knows only the fork learns of it from the publisher, and stops.
func TestAForkByTheReplacedKeyIsShownOnBothSides(t *testing.T) {
	for _, row := range []struct {
		name          string
		before, after int // documents of the fork, up to its parting and behind it; the key was changed at 3
		kind          proof.EvidenceKind
	}{
		{"longer than the truth", 3, 9, proof.ReplacedKey},
		{"shorter", 3, 2, proof.ReplacedKey},
		{"parted before the change", 0, 3, proof.RotationHead},
	} {
		a, b, fooled := newNode(t).up(listenTCP), newNode(t).up(nil), newNode(t).up(nil)
		first := entriesOf(t, "one", 3, 200)
		a.publish("main", first...)
		origin := a.origin("main")
		b.sync(a.addr(), origin)
		thief := a.twin().up(nil)
		if row.before > 0 {
			thief.publish("main", first...)
		}
		thief.publish("main", entriesOf(t, "lie", row.after, 200)...)
		old, next := a.nextKey("main")
		a.publish("main", entriesOf(t, "two", 3, 200)...)
		b.sync(a.addr(), origin)
		b.pinned(origin, next, 1)

		fork := newRelay(t, thief, honestly)
		if _, err := b.peer.Sync(t.Context(), fork.addr, origin, nil); !errors.Is(err, ErrKey) {
			t.Errorf("%s: the fork, to a follower that has moved: %v", row.name, err)
		}
		b.keeps(origin, proof.ReplacedKey)
		b.pinned(origin, next, 1)
		a.publish("main", entriesOf(t, "three", 3, 200)...)
		b.sync(a.addr(), origin)

		fooled.sync(fork.addr, origin)
		fooled.pinned(origin, old, 0)
		if _, err := fooled.peer.Sync(t.Context(), a.addr(), origin, nil); !errors.Is(err, ErrEquivocation) {
			t.Errorf("%s: the truth, to a follower of the fork: %v", row.name, err)
		}
		fooled.keeps(origin, row.kind)
		if _, err := fooled.peer.Sync(t.Context(), fork.addr, origin, nil); !errors.Is(err, ErrFrozen) {
			t.Errorf("%s: the fork, after it: %v", row.name, err)
		}
	}
}

// The holder of both keys has handed the corpus over to two keys: evidence.
func TestTwoRotationsOfOneKeyFreezeTheCorpus(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "one", 3, 200)...)
	origin := a.origin("main")
	old, _ := a.nextKey("main")
	b.sync(a.addr(), origin)
	head, _, err := a.shared.Corpora().Head(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	id, err := loadIdentity(a.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	second := keyOf(t, origin, 66)
	r, err1 := proof.MakeRotation(head, old, second)
	text, err2 := id.statement(second.Verifier())
	note, err3 := proof.SignCheckpoint(head, second)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	files := make(published)
	for k, b := range map[kind][]byte{kindKey: text, kindCheckpoint: note, kindRotations: r.Note()} {
		files[resource{kind: k, corpus: mustCorpus(t, origin)}.path()] = b
	}
	if _, err := b.peer.Sync(t.Context(), files.serve(t), origin, nil); !errors.Is(err, ErrEquivocation) {
		t.Errorf("a second rotation of one key: %v", err)
	}
	if _, err := b.peer.Sync(t.Context(), a.addr(), origin, nil); !errors.Is(err, ErrFrozen) {
		t.Errorf("after it: %v", err)
	}
	if info, err := b.shared.Corpora().Lookup(t.Context(), origin); err != nil || !info.Frozen {
		t.Errorf("%+v, %v", info, err)
	}
}
