package proof

import (
	"errors"
	"testing"
	"time"

	"arborist/merkle"
)

func testWitness(t testing.TB, name string, seed byte) *CosignSigner {
	t.Helper()
	s, err := NewCosignSigner(name, [32]byte{seed, 0x77})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testNote(t testing.TB, s *Signer) []byte {
	t.Helper()
	note, err := SignCheckpoint(Checkpoint{Origin: s.Name(), Size: 3, Root: merkle.Hash{1}}, s)
	if err != nil {
		t.Fatal(err)
	}
	return note
}

func cosigned(t testing.TB, note []byte, w *CosignSigner, seconds int64) []byte {
	t.Helper()
	note, err := w.Cosign(note, time.Unix(seconds, 999))
	if err != nil {
		t.Fatal(err)
	}
	return note
}

func TestCosignaturesAreVerifiedAndOthersIgnored(t *testing.T) {
	s := testSigner(t, "peer/main")
	w1, w2 := testWitness(t, "w1", 1), testWitness(t, "w2", 2)
	note := cosigned(t, cosigned(t, testNote(t, s), w1, 1700000000), w2, 1700000001)
	got, err := Cosignatures(note, []*Cosigner{w1.Cosigner()})
	if err != nil || len(got) != 1 || got[0].Name != "w1" || got[0].Time() != "2023-11-14T22:13:20Z" {
		t.Errorf("%+v, %v", got, err)
	}
	if c, err := OpenCheckpoint(note, s.Verifier()); err != nil || c.Size != 3 {
		t.Errorf("the corpus's key: %+v, %v", c, err)
	}
	kept, err := KeepSignatures(note, []*Verifier{s.Verifier()}, []*Cosigner{w2.Cosigner()})
	if want := cosigned(t, testNote(t, s), w2, 1700000001); err != nil || string(kept) != string(want) {
		t.Errorf("kept\n%s\nwant\n%s%v", kept, want, err)
	}
	if _, err := Cosignatures(append(note, note[len(testNote(t, s)):]...), []*Cosigner{w1.Cosigner()}); !errors.Is(err, ErrFormat) {
		t.Errorf("two lines of one witness: %v", err)
	}
}
