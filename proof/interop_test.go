package proof

import (
	"testing"
	"time"

	"arborist/merkle"
)

// A note cosigned by github.com/transparency-dev/formats v0.1.1 on 2026-11-30,
// with the witness seed 0, 1, … 31.
const (
	interopWitness = "witness.example.com/interop+afa379be+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
	interopLog     = "example.com/log\n7\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n" +
		"— example.com/log n8ibXvXwjSd1J5l9bTVvQzYJ4bR8+KxKyskEtX/tHGgKM1iNo1fBPp/bdi1BCYOyKcS+tZQIFtXKj8GBvJpkiT1BBQc=\n"
	interopNote = interopLog +
		"— witness.example.com/interop r6N5vgAAAABrDTCgIBHRhSevyPJBYRh1OWa5N1dHAj2bDbjaKkPgtkF0e6COPpAle7xLBVTglr8+7XNoGBZUpYDoiCitPfXWcUFNAw==\n"
)

func TestCosignaturesAgreeWithTransparencyDevBothWays(t *testing.T) {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(i)
	}
	w, err := NewCosignSigner("witness.example.com/interop", seed)
	if err != nil || w.Cosigner().String() != interopWitness {
		t.Fatalf("%s, %v", w.Cosigner(), err)
	}
	got, err := Cosignatures([]byte(interopNote), []*Cosigner{w.Cosigner()})
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	// Ed25519 gives one signature for one message: ours is theirs.
	again, err := w.Cosign([]byte(interopLog), got[0].At)
	if err != nil || string(again) != interopNote {
		t.Errorf("ours\n%s\ntheirs\n%s%v", again, interopNote, err)
	}
}

func TestCosignSignsOnlyCheckpointsAndTimesThatThereAre(t *testing.T) {
	w := testWitness(t, "w1", 1)
	note := testNote(t, testSigner(t, "peer/main"))
	for name, bad := range map[string][]byte{
		"empty": nil, "not a checkpoint": []byte("hello\n\n— a AAAAAAA=\n"), "no line": Checkpoint{"peer/main", 3, merkle.Hash{1}}.Text(),
	} {
		if got, err := w.Cosign(bad, time.Unix(1, 0)); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got, err := w.Cosign(note, time.Unix(-1, 0)); err == nil {
		t.Errorf("before 1970: %q", got)
	}
	twice := cosigned(t, cosigned(t, note, w, 5), w, 6)
	if string(twice) != string(cosigned(t, note, w, 6)) {
		t.Errorf("an earlier line of the key is still there:\n%s", twice)
	}
	if s := (Cosignature{At: time.Unix(1<<63-1, 0)}).Time(); s != "@9223372036854775807" {
		t.Error(s)
	}
	if s := (Cosignature{At: time.Unix(maxRFC3339, 0)}).Time(); s != "9999-12-31T23:59:59Z" {
		t.Error(s)
	}
}
