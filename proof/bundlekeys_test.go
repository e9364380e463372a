package proof

import (
	"errors"
	"reflect"
	"testing"

	"arborist/merkle"
)

// withNote puts another note under every proof of the corpus main.
func (a answer) withNote(t *testing.T, note func(head Checkpoint) []byte) []*Proof {
	t.Helper()
	var proofs []*Proof
	for _, p := range a.proofs {
		if p.Log != nil {
			head, err := ReadCheckpoint(p.Log.Note)
			if err != nil {
				t.Fatal(err)
			}
			if head.Origin == a.main.Name() {
				q, part := *p, *p.Log
				part.Note = note(head)
				q.Log, p = &part, &q
			}
		}
		proofs = append(proofs, p)
	}
	return proofs
}

// What is expected of keys, rotations and witnesses means the same for a bundle
// as for each of its proofs: the same claims, and where one of them is refused
// the bundle is, for the same reason.
func TestBundleExpectsWhatItsSingleProofsExpect(t *testing.T) {
	a := testAnswer(t)
	keys := newCorpusKeys(t, 3)
	k0, k1, k2 := keys[0].Verifier(), keys[1].Verifier(), keys[2].Verifier()
	other := a.other.Verifier()
	w1, w2 := testWitness(t, "w1", 1), testWitness(t, "w2", 2)
	publisher, err := NewCosignSigner("p", [32]byte(keys[0].key.Seed()))
	if err != nil {
		t.Fatal(err)
	}
	by := func(signers ...*Signer) func(Checkpoint) []byte {
		return func(head Checkpoint) []byte {
			note, err := SignCheckpoint(head, signers...)
			if err != nil {
				t.Fatal(err)
			}
			return note
		}
	}
	seenBy := func(witnesses ...*CosignSigner) func(Checkpoint) []byte {
		return func(head Checkpoint) []byte {
			note := by(keys[0])(head)
			for i, w := range witnesses {
				note = cosigned(t, note, w, int64(1700000000+i))
			}
			return note
		}
	}
	wrongLine := func(head Checkpoint) []byte {
		return append(by(keys[0])(head), cosigned(t, by(keys[0])(Checkpoint{head.Origin, head.Size + 1, head.Root}), w1, 1700000000)[len(by(keys[0])(head)):]...)
	}
	chain := func(size uint64, signers ...*Signer) []Rotation {
		head := Checkpoint{Origin: keys[0].Name(), Size: size, Root: merkle.Hash{1}}
		if size == 11 {
			head, _ = ReadCheckpoint(a.proofs[0].Log.Note)
		}
		r, err := MakeRotation(head, signers[0], signers[1])
		if err != nil {
			t.Fatal(err)
		}
		return []Rotation{r}
	}
	of := func(w ...*CosignSigner) (all []*Cosigner) {
		for _, s := range w {
			all = append(all, s.Cosigner())
		}
		return all
	}
	for _, row := range []struct {
		name   string
		note   func(Checkpoint) []byte
		expect ExpectBundle
		want   error
	}{
		{"a key that was replaced", by(keys[0]), ExpectBundle{Keys: []*Verifier{k0}, Rotations: chain(11, keys[0], keys[1])}, nil},
		{"a key that the one given replaced", by(keys[0]), ExpectBundle{Keys: []*Verifier{k1, other}, Rotations: chain(11, keys[0], keys[1])}, nil},
		{"a later key", by(keys[1]), ExpectBundle{Keys: []*Verifier{k0}, Rotations: chain(5, keys[0], keys[1])}, nil},
		{"both keys", by(keys[0], keys[1]), ExpectBundle{Keys: []*Verifier{other, k0}, Rotations: chain(5, keys[0], keys[1])}, nil},
		{"a replaced key above its rotation", by(keys[0]), ExpectBundle{Keys: []*Verifier{k0}, Rotations: chain(5, keys[0], keys[1])}, ErrRotation},
		{"a key outside the chain", by(keys[2]), ExpectBundle{Keys: []*Verifier{k2}, Rotations: chain(5, keys[0], keys[1])}, ErrRotation},
		{"signed outside the chain", by(keys[2]), ExpectBundle{Keys: []*Verifier{k0}, Rotations: chain(5, keys[0], keys[1])}, ErrUnknownKey},
		{"rotations missing", by(keys[1]), ExpectBundle{Keys: []*Verifier{k0}}, ErrUnknownKey},
		{"a witness", seenBy(w1), ExpectBundle{Keys: []*Verifier{k0}, Witnesses: of(w1)}, nil},
		{"a witness and rotations", seenBy(w1, w2), ExpectBundle{Keys: []*Verifier{k1}, Rotations: chain(11, keys[0], keys[1]), Witnesses: of(w1)}, nil},
		{"one of two", seenBy(w1), ExpectBundle{Keys: []*Verifier{k0}, Witnesses: of(w1, w2), Quorum: 1}, nil},
		{"two of two", seenBy(w1), ExpectBundle{Keys: []*Verifier{k0}, Witnesses: of(w1, w2)}, ErrWitness},
		{"a witness of one of two logs", seenBy(w1), ExpectBundle{Keys: []*Verifier{k0, other}, Witnesses: of(w1)}, ErrWitness},
		{"a wrong line of a witness", wrongLine, ExpectBundle{Keys: []*Verifier{k0}, Witnesses: of(w1)}, ErrSignature},
		{"a quorum out of reach", seenBy(w1), ExpectBundle{Keys: []*Verifier{k0}, Witnesses: of(w1), Quorum: 2}, ErrExpect},
		{"the publisher as a witness", seenBy(w1), ExpectBundle{Keys: []*Verifier{k0}, Witnesses: of(publisher)}, ErrExpect},
		{"unknown lines", seenBy(w1, w2), ExpectBundle{Keys: []*Verifier{k0, other}}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			proofs := a.withNote(t, row.note)
			text, _ := mustForms(t, mustBundle(t, proofs))
			b, err := ParseBundle(text)
			if err != nil {
				t.Fatal(err)
			}
			claims, err := VerifyBundle(b, row.expect)
			if !errors.Is(err, row.want) || (err != nil && claims.Hits != nil) {
				t.Fatalf("%v, want %v", err, row.want)
			}
			var refusal error
			for i, p := range proofs {
				e := Expect{}
				if key := keyFor(p, row.expect.Keys); key != nil {
					e = row.expect.of(key)
				}
				want, err := Verify(p, e)
				if err != nil {
					refusal = err
				} else if row.want == nil && !reflect.DeepEqual(claims.Hits[i], want) {
					t.Errorf("hit %d: %+v\nwant %+v", i+1, claims.Hits[i], want)
				}
			}
			if !errors.Is(refusal, row.want) {
				t.Errorf("single proofs: %v, want %v", refusal, row.want)
			}
		})
	}
}

// Faults of the expectation itself, which no single proof can have alike.
func TestBundleRefusesWhatMakesNoSense(t *testing.T) {
	a := testAnswer(t)
	b := mustBundle(t, a.proofs)
	keys := newCorpusKeys(t, 2)
	chain := keys.chain(t, 5)
	for name, e := range map[string]ExpectBundle{
		"witnesses without a key":                 {Witnesses: []*Cosigner{testWitness(t, "w1", 1).Cosigner()}},
		"a quorum without a key":                  {Quorum: 1},
		"rotations without a key":                 {Rotations: chain},
		"rotations and the key of another corpus": {Keys: a.keys()[1:], Rotations: chain},
	} {
		if _, err := VerifyBundle(b, e); !errors.Is(err, ErrExpect) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
