package peer

import (
	"errors"
	"testing"

	"arborist/shard/corpus"
)

func TestCertifyStoresTheStatementOfEachCorpusOfOurs(t *testing.T) {
	a, b := newNode(t), newNode(t)
	for _, name := range []string{"main", "other"} {
		a.publish(name, entriesOf(t, "doc:/"+name, 1, 200)...)
	}
	// One that is followed without its statement is not ours to certify.
	if _, err := a.shared.Corpora().Follow(t.Context(), b.signer("main").Verifier()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Certify(t.Context(), a.keyFile(), a.shared); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"main", "other"} {
		text, err := a.shared.Corpora().Statement(t.Context(), a.origin(name))
		if err != nil {
			t.Fatal(err)
		}
		v, err := openStatement(text, mustCorpus(t, a.origin(name)))
		if err != nil || v.String() != a.signer(name).Verifier().String() {
			t.Errorf("statement of %s opens to %v, %v", name, v, err)
		}
	}
	if _, err := a.shared.Corpora().Statement(t.Context(), b.origin("main")); !errors.Is(err, corpus.ErrNotFound) {
		t.Errorf("statement of a foreign corpus: %v, want none", err)
	}
	// Another node's key certifies nothing here.
	if err := Certify(t.Context(), b.keyFile(), a.twin().shared); err == nil {
		t.Error("a corpus was certified by a key that is not its publisher's")
	}
}
