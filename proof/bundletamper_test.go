package proof

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"arborist/merkle"
)

func acceptsBundle(k *Checker, file []byte, e ExpectBundle) bool {
	b, err := ParseBundle(file)
	if err != nil {
		return false
	}
	_, err = k.VerifyBundle(b, e)
	return err == nil
}

// Threat 1. Every bit of the text form and of the JSON form.
func TestNoFlippedBitOfABundleIsAccepted(t *testing.T) {
	a := testAnswer(t)
	text, twin := mustForms(t, mustBundle(t, a.proofs))
	var k Checker
	e := ExpectBundle{Keys: a.keys()}
	for _, file := range [][]byte{text, twin} {
		if !acceptsBundle(&k, file, e) {
			t.Fatal("the untouched bundle is refused")
		}
		for bit := range len(file) * 8 {
			file[bit/8] ^= 1 << (bit % 8)
			if acceptsBundle(&k, file, e) {
				t.Errorf("accepted with bit %d flipped", bit)
			}
			file[bit/8] ^= 1 << (bit % 8)
		}
		t.Logf("%d flips", len(file)*8)
	}
	// Lines of keys that nobody knows are the only freedom, as in single proofs.
	free := "\u2014 witness.example AAAAAAECAwQ=\n"
	for _, p := range a.proofs {
		if p.Log != nil && bytes.Contains(p.Log.Note, []byte("/main\n")) {
			p.Log.Note = append(bytes.Clone(p.Log.Note), free...)
		}
	}
	if text, _ = mustForms(t, mustBundle(t, a.proofs)); !acceptsBundle(&k, bytes.Replace(text, []byte("AECAwQ="), []byte("AECAwU="), 1), e) {
		t.Error("a changed line of an unknown witness spoils a bundle")
	}
}

func TestEveryCutBundleIsRefused(t *testing.T) {
	a := testAnswer(t)
	text, twin := mustForms(t, mustBundle(t, a.proofs))
	var k Checker
	for _, file := range [][]byte{text, twin} {
		for n := range file {
			if acceptsBundle(&k, file[:n], ExpectBundle{}) {
				t.Errorf("accepted after %d of %d bytes", n, len(file))
			}
		}
	}
}

// A bundle verifies exactly where all of its single proofs do, with the same
// claims, whatever is changed in memory.
func TestBundleVerifiesExactlyWhereItsProofsDo(t *testing.T) {
	a := testAnswer(t)
	valid := mustBundle(t, a.proofs)
	text, _ := mustForms(t, valid)
	random := rand.New(rand.NewPCG(3, 4))
	agreed, refused := 0, 0
	for range 1000 {
		b, err := ParseBundle(text)
		if err != nil {
			t.Fatal(err)
		}
		change(random, b)
		keys := a.keys()
		if random.IntN(2) == 0 {
			keys = nil
		}
		claims, bundleErr := VerifyBundle(b, ExpectBundle{Keys: keys})
		singles, err := b.Proofs()
		if err != nil {
			// It has no encoding: then it must not verify either.
			if bundleErr == nil {
				t.Fatalf("verifies, but has no proofs: %v", err)
			}
			continue
		}
		var singleErr error
		for i, p := range singles {
			e := Expect{}
			switch number := b.Hits[i].Document; {
			case keys != nil && number < 2:
				e.Key = keys[0]
			case keys != nil && number == 2:
				e.Key = keys[1]
			}
			c, err := Verify(p, e)
			if err != nil {
				singleErr = err
			} else if bundleErr == nil && !reflect.DeepEqual(c, claims.Hits[i]) {
				t.Fatalf("hit %d: %+v, alone %+v", i+1, claims.Hits[i], c)
			}
		}
		if (singleErr == nil) != (bundleErr == nil) {
			t.Fatalf("bundle: %v, single proofs: %v", bundleErr, singleErr)
		}
		if bundleErr == nil {
			agreed++
		} else {
			refused++
		}
	}
	t.Logf("%d accepted, %d refused", agreed, refused)
	if agreed < 50 || refused < 300 {
		t.Errorf("only %d accepted and %d refused", agreed, refused)
	}
}

// change changes one thing of a bundle, or nothing that matters.
func change(random *rand.Rand, b *Bundle) {
	d := b.documents()[random.IntN(len(b.documents()))]
	l := &b.Logs[random.IntN(len(b.Logs))]
	flip := func(hashes []merkle.Hash) {
		if len(hashes) > 0 {
			hashes[random.IntN(len(hashes))][random.IntN(32)] ^= 1 << random.IntN(8)
		}
	}
	switch random.IntN(9) {
	case 0:
		flip(d.Path)
	case 1:
		flip(l.Path)
	case 2:
		text := d.Passages[random.IntN(len(d.Passages))].Text
		text[random.IntN(len(text))] ^= 1
	case 3:
		slices.Reverse(d.Path)
	case 4:
		i := random.IntN(len(b.Hits))
		b.Hits[0], b.Hits[i] = b.Hits[i], b.Hits[0] // another ranking is another answer, but no lie
	case 5:
		i := random.IntN(len(l.Note))
		l.Note[i] ^= 1 << random.IntN(8)
	case 6:
		if d.Record != nil {
			d.Record.Title += "x"
		}
	case 7:
		d.Passages[0].Text, d.Passages[len(d.Passages)-1].Text = d.Passages[len(d.Passages)-1].Text, d.Passages[0].Text
	case 8:
		moved := d.Passages[0].Chunk ^ 1
		for i, h := range b.Hits {
			if h.Chunk == d.Passages[0].Chunk && b.documents()[h.Document] == d {
				b.Hits[i].Chunk = moved
			}
		}
		d.Passages[0].Chunk = moved
	}
}
