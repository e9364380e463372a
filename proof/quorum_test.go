package proof

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// sameKey returns the witness under another name: an Ed25519 cosignature does
// not commit to the name.
func sameKey(t testing.TB, w *CosignSigner, name string) *CosignSigner {
	t.Helper()
	s, err := NewCosignSigner(name, [32]byte(w.key.Seed()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestQuorumCountsEachWitnessOnce(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	w1, w2, w3 := testWitness(t, "w1", 1), testWitness(t, "w2", 2), testWitness(t, "w3", 3)
	again := sameKey(t, w1, "alias")
	publisher, err := NewCosignSigner("p", [32]byte(s.key.Seed()))
	if err != nil {
		t.Fatal(err)
	}
	d := newTestDocument(numbered(5))
	base := d.logged(t, s, 3, 6, 11)
	of := func(by ...*CosignSigner) *Proof {
		p, l := *base, *base.Log
		for i, w := range by {
			l.Note = cosigned(t, l.Note, w, int64(1700000000+i))
		}
		p.Log = &l
		return &p
	}
	ask := func(quorum int, of ...*CosignSigner) Expect {
		e := Expect{Key: s.Verifier(), Quorum: quorum}
		for _, w := range of {
			e.Witnesses = append(e.Witnesses, w.Cosigner())
		}
		return e
	}
	noKey := ask(0, w1)
	noKey.Key = nil
	withNil := ask(0, w1)
	withNil.Witnesses = append(withNil.Witnesses, nil)
	rows := []struct {
		name   string
		proof  *Proof
		expect Expect
		want   error
		names  string // of the cosignatures in the claim
		others int
	}{
		{"no witness asked for", of(w1, w2), ask(0), nil, "", 2},
		{"the one asked for", of(w1), ask(0, w1), nil, "w1", 0},
		{"the one asked for and another", of(w1, w2), ask(0, w1), nil, "w1", 1},
		{"two of two", of(w1, w2), ask(0, w2, w1), nil, "w2 w1", 0},
		{"one of two, both demanded", of(w1), ask(0, w1, w2), ErrWitness, "", 0},
		{"one of two, one demanded", of(w2), ask(1, w1, w2), nil, "w2", 0},
		{"two of three, two demanded", of(w1, w3), ask(2, w1, w2, w3), nil, "w1 w3", 0},
		{"two of three, three demanded", of(w1, w3), ask(3, w1, w2, w3), ErrWitness, "", 0},
		{"none of one", of(), ask(0, w1), ErrWitness, "", 0},
		{"one key under two names, both have signed", of(w1, again), ask(0, w1, again), nil, "w1", 0},
		{"one key under two names, the second has signed", of(again), ask(1, w1, again), nil, "alias", 0},
		{"one key under two names is no quorum of two", of(w1, again), ask(2, w1, again, w2), ErrWitness, "", 0},
		{"one key under two names, two demanded", of(w1, again), ask(2, w1, again), ErrExpect, "", 0},
		{"one key given twice, two demanded", of(w1), ask(2, w1, w1), ErrExpect, "", 0},
		{"one key given twice", of(w1), ask(0, w1, w1), nil, "w1", 0},
		{"a quorum above the witnesses", of(w1), ask(2, w1), ErrExpect, "", 0},
		{"a quorum of no witnesses", of(w1), ask(1), ErrExpect, "", 0},
		{"a negative quorum", of(w1), ask(-1, w1), ErrExpect, "", 0},
		{"no key of the corpus", of(w1), noKey, ErrExpect, "", 0},
		{"a witness that is nil", of(w1), withNil, ErrExpect, "", 0},
		{"the corpus's own key as witness", of(publisher), ask(0, publisher), ErrExpect, "", 0},
	}
	var k Checker
	for _, row := range rows {
		for _, verify := range []func(*Proof, Expect) (Claim, error){Verify, k.Verify, k.Verify} {
			c, err := verify(row.proof, row.expect)
			if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
				t.Errorf("%s: %v, want %v", row.name, err, row.want)
				continue
			}
			var got []string
			for _, w := range c.Cosignatures {
				got = append(got, w.Name)
			}
			if strings.Join(got, " ") != row.names || c.OtherSignatures != row.others {
				t.Errorf("%s: cosigned by %q and %d others, want %q and %d", row.name, got, c.OtherSignatures, row.names, row.others)
			}
			said := strings.Contains(c.Statement(), "cosigned by")
			if said != (row.want == nil && len(row.expect.Witnesses) > 0) {
				t.Errorf("%s: it says %q", row.name, c.Statement())
			}
		}
	}
	if c, err := Verify(of(w1, w3), ask(2, w1, w2, w3)); err != nil || !strings.HasSuffix(c.Statement(), "records that are signed, cosigned by 2 of 3 witnesses") {
		t.Errorf("%q, %v", c.Statement(), err)
	}
}

// What the Checker remembers of a note is bound to the keys that it was asked
// about, and no refusal is remembered as anything else.
func TestCheckerRemembersCosignaturesPerWitnesses(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	w1, w2 := testWitness(t, "w1", 1), testWitness(t, "w2", 2)
	p := newTestDocument(numbered(5)).logged(t, s, 0, 6, 11)
	p.Log.Note = cosigned(t, p.Log.Note, w1, 5)
	var k Checker
	ask := func(w ...*Cosigner) error {
		_, err := k.Verify(p, Expect{Key: s.Verifier(), Witnesses: w})
		return err
	}
	if err := ask(w1.Cosigner()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ask(w2.Cosigner()); !errors.Is(err, ErrWitness) {
			t.Errorf("another witness: %v", err)
		}
		if err := ask(w1.Cosigner(), w2.Cosigner()); !errors.Is(err, ErrWitness) {
			t.Errorf("both: %v", err)
		}
	}
	// What is remembered is used.
	for at := range k.witnesses {
		k.witnesses[at] = witnessing{}
	}
	if err := ask(w1.Cosigner()); !errors.Is(err, ErrWitness) {
		t.Errorf("the cosignature was verified again: %v", err)
	}
	for i := range 2 * maxOpened {
		note := slices.Clone(testNote(t, s))
		if _, err := k.cosignatures(cosigned(t, note, w1, int64(i)), &Expect{Key: s.Verifier(), Witnesses: []*Cosigner{w1.Cosigner()}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.witnesses) > maxOpened {
		t.Errorf("%d notes remembered, at most %d", len(k.witnesses), maxOpened)
	}
}
