package proof

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"arborist/merkle"
)

func TestCheckerChecksASignatureOncePerCheckpoint(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	d := newTestDocument(numbered(50))
	part := d.logged(t, s, 0, 6, 11).Log
	var k Checker
	for i := range d.chunks {
		p := d.proof(t, i)
		p.Log = part
		if c, err := k.Verify(p, Expect{Key: s.Verifier()}); err != nil || !c.SignatureChecked {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	if len(k.opened) != 1 {
		t.Errorf("%d notes remembered, want 1", len(k.opened))
	}
	// What is remembered is used: a lie put in its place is believed.
	for note := range k.opened {
		k.opened[note] = Checkpoint{Origin: note.key.name, Size: 11, Root: merkle.Hash{1}}
	}
	p := d.proof(t, 0)
	p.Log = part
	if _, err := k.Verify(p, Expect{Key: s.Verifier()}); !errors.Is(err, ErrTampered) {
		t.Errorf("the signature was checked again: %v", err)
	}
}

func TestCheckerRemembersNoRefusalAndNoOtherKey(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	same, err := NewSigner(s.Name(), [32]byte{9})
	if err != nil {
		t.Fatal(err)
	}
	p := newTestDocument(numbered(5)).logged(t, s, 0, 6, 11)
	var k Checker
	if _, err := k.Verify(p, Expect{Key: s.Verifier()}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Verify(p, Expect{Key: same.Verifier()}); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("another key of the same name: %v", err)
	}
	forged := *p.Log
	forged.Note = []byte(strings.Replace(string(p.Log.Note), "\n11\n", "\n12\n", 1))
	p.Log = &forged
	for range 2 {
		if _, err := k.Verify(p, Expect{Key: s.Verifier()}); !errors.Is(err, ErrSignature) {
			t.Errorf("forged note: %v", err)
		}
	}
	if len(k.opened) != 1 {
		t.Errorf("%d notes remembered, want 1", len(k.opened))
	}
}

func TestCheckerMemoryIsBoundedAndConcurrent(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	d := newTestDocument(numbered(3))
	var k Checker
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				p := d.proof(t, 1)
				r := d.record(fmt.Sprintf("u%d", i+100*w))
				p.Log = logPart(t, s, r, 0, 1)
				if _, err := k.Verify(p, Expect{Key: s.Verifier()}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(k.opened) > maxOpened {
		t.Errorf("%d notes remembered, at most %d", len(k.opened), maxOpened)
	}
}
