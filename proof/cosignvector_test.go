package proof

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"arborist/merkle"
)

// cosignRow is a note with the witnesses that its reader knows.
type cosignRow struct {
	name  string
	note  string
	known []*Cosigner
}

// badLine is a signature line of a witness with these bytes behind its key ID.
func badLine(w *CosignSigner, sig []byte) string {
	return string(signature{name: w.cosigner.name, id: w.cosigner.id, sig: sig}.line())
}

// cosignRows lists notes with cosignatures, good and bad.
func cosignRows(t testing.TB) []cosignRow {
	s := testSigner(t, "peer/main")
	w1, w2 := testWitness(t, "w1", 1), testWitness(t, "witness.example/é", 2)
	alias := sameKey(t, w1, "alias")
	note := string(testNote(t, s))
	text, _, _ := strings.Cut(note, "\n\n")
	text += "\n"
	line := func(w *CosignSigner, seconds int64) string {
		return strings.TrimPrefix(string(cosigned(t, []byte(note), w, seconds)), note)
	}
	sig := func(w *CosignSigner, seconds int64) []byte {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line(w, seconds)[strings.LastIndex(line(w, seconds), " "):]))
		if err != nil {
			t.Fatal(err)
		}
		return b[4:]
	}
	changed := func(at int, to byte) []byte {
		b := sig(w1, 1700000000)
		b[at] ^= to
		return b
	}
	tooLate := binary.BigEndian.AppendUint64(nil, 1<<63)
	tooLate = append(tooLate, sign(w1, []byte("cosignature/v1\ntime 9223372036854775808\n"+text))...)
	overText := append(binary.BigEndian.AppendUint64(nil, 5), sign(w1, []byte(text))...)
	leadingZero := append(binary.BigEndian.AppendUint64(nil, 5), sign(w1, []byte("cosignature/v1\ntime 05\n"+text))...)
	noHeader := append(binary.BigEndian.AppendUint64(nil, 5), sign(w1, []byte("time 5\n"+text))...)
	otherText := strings.Replace(text, "\n3\n", "\n4\n", 1)
	one, both := []*Cosigner{w1.Cosigner()}, []*Cosigner{w1.Cosigner(), w2.Cosigner()}
	mlDSA := "— w1 " + base64.StdEncoding.EncodeToString(append([]byte{1, 2, 3, 6}, make([]byte, 8+2420)...)) + "\n"
	at := func(seconds int64) string { return note + line(w1, seconds) }
	return []cosignRow{
		{"one cosignature", at(1700000000), one},
		{"two, of two known", at(1700000000) + line(w2, 1700000001), both},
		{"two, of one known", at(1700000000) + line(w2, 1700000001), one},
		{"before the line of the log", strings.Replace(note, "\n\n", "\n\n"+line(w1, 7), 1), one},
		{"none", note, one},
		{"nobody known", at(1700000000), nil},
		{"time 0", at(0), one},
		{"the latest time, 2^63-1", at(1<<63 - 1), one},
		{"one key under two names counts once", at(1) + line(alias, 2), []*Cosigner{w1.Cosigner(), alias.Cosigner()}},
		{"the same witness known twice", at(1), []*Cosigner{w1.Cosigner(), w1.Cosigner()}},
		{"an ML-DSA-44 line of the same name is of an unknown key", note + mlDSA, one},
		{"a line of the name with another key ID is of an unknown key", note + "— w1 " + base64.StdEncoding.EncodeToString(append([]byte("keyh"), make([]byte, 72)...)) + "\n", one},
		{"a wrong line of an unknown witness", at(1) + badLine(w2, make([]byte, 72)), one},
		{"no line of the log", text + "\n" + line(w1, 7), one},

		{"time changed", note + badLine(w1, changed(7, 1)), one},
		{"signature changed", note + badLine(w1, changed(8, 1)), one},
		{"last bit changed", note + badLine(w1, changed(71, 0x10)), one},
		{"signature of all zeros", note + badLine(w1, make([]byte, 72)), one},
		{"71 bytes", note + badLine(w1, sig(w1, 7)[:71]), one},
		{"73 bytes", note + badLine(w1, append(sig(w1, 7), 0)), one},
		{"a plain signature of 64 bytes", note + badLine(w1, sign(w1, []byte(text))), one},
		{"time above 2^63-1", note + badLine(w1, tooLate), one},
		{"signs the checkpoint without header and time", note + badLine(w1, overText), one},
		{"signs a time with a leading zero", note + badLine(w1, leadingZero), one},
		{"signs without the header line", note + badLine(w1, noHeader), one},
		{"signs another checkpoint", otherText + "\n" + strings.TrimPrefix(at(7), text+"\n"), one},
		{"the line of another witness under this one's key", note + badLine(w1, sig(w2, 7)), one},
		{"one right, one wrong", at(7) + badLine(w2, make([]byte, 72)), both},
		{"two lines of one witness", at(7) + line(w1, 8), one},
		{"the same line twice", at(7) + line(w1, 7), one},
		{"not a checkpoint", "hello\n\n" + line(w1, 7), one},
		{"an extension line in the checkpoint", strings.Replace(at(7), "\n\n", "\nmore\n\n", 1), one},
		{"padding of base64 cut", note + strings.Replace(line(w1, 7), "=\n", "", 1) + "\n", one},
		{"no line end at the end", strings.TrimSuffix(at(7), "\n"), one},
		{"no signature line", text + "\n", one},
		{"empty", "", one},
	}
}

func sign(w *CosignSigner, message []byte) []byte { return ed25519.Sign(w.key, message) }

// evaluateCosignatures runs a vector of kind cosignature.
func (v vector) evaluateCosignatures(t *testing.T) (map[string]any, error) {
	var known []*Cosigner
	for _, vkey := range v.Witnesses {
		c, err := ParseCosigner(vkey)
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, c)
	}
	found, err := Cosignatures(v.input(), known)
	if err != nil {
		return nil, err
	}
	all := []any{}
	for _, c := range found {
		all = append(all, map[string]any{"name": c.Name, "time": c.Time()})
	}
	return map[string]any{"cosignatures": all}, nil
}

func cosignResult(c *Cosigner) map[string]any {
	return map[string]any{"name": c.name, "id": float64(c.id), "public_key": hex.EncodeToString(c.key[:])}
}

func cosignVectors(t *testing.T) (all []vector) {
	w := testWitness(t, "w1", 1)
	vkey := w.Cosigner().String()
	all = append(all, newVector("cosigner", "a key", []byte(vkey)), newVector("cosigner", "the key of a corpus", []byte(testSigner(t, "peer/main").Verifier().String())))
	bad := badKeys(vkey, w.PrivateKey())
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		if name != "another type" { // that of a corpus with an honest hash is above
			all = append(all, newVector("cosigner", name, []byte(bad[name])))
		}
	}
	all = append(all, newVector("key", "the key of a witness given as that of a corpus", []byte(vkey)))
	row := func(name, note string, known ...*Cosigner) {
		v := newVector("cosignature", name, []byte(note))
		for _, c := range known {
			v.Witnesses = append(v.Witnesses, c.String())
		}
		all = append(all, v)
	}
	for _, r := range cosignRows(t) {
		row(r.name, r.note, r.known...)
	}
	c, err := ParseCosigner(interopWitness)
	if err != nil {
		t.Fatal(err)
	}
	row("made by github.com/transparency-dev/formats", interopNote, c)
	return all
}

func TestWitnessKeyHasOneSpelling(t *testing.T) {
	w := testWitness(t, "w1", 1)
	vkey, skey := w.Cosigner().String(), w.PrivateKey()
	if c, err := ParseCosigner(vkey); err != nil || *c != *w.Cosigner() {
		t.Fatal(err)
	}
	if again, err := ParseCosignSigner(skey); err != nil || again.PrivateKey() != skey {
		t.Fatal(err)
	}
	for name, bad := range badKeys(vkey, skey) {
		if name == "another type" {
			continue
		}
		if _, err := ParseCosigner(bad); reasonOf(err) != "malformed" && reasonOf(err) != "too_large" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ParseCosignSigner("PRIVATE+KEY+" + bad); err == nil || strings.Contains(err.Error(), skey[len(skey)-20:]) {
			t.Errorf("private, %s: %v", name, err)
		}
	}
	s := testSigner(t, "w1")
	if _, err := ParseCosigner(s.Verifier().String()); err == nil || !strings.Contains(err.Error(), "key of a corpus (type 1), want that of a witness (type 4)") {
		t.Errorf("corpus key as witness key: %v", err)
	}
	if _, err := ParseVerifier(vkey); err == nil || !strings.Contains(err.Error(), "key of a witness (type 4), want that of a corpus (type 1)") {
		t.Errorf("witness key as corpus key: %v", err)
	}
	if _, err := ParseSigner(skey); err == nil {
		t.Error("a private witness key signs corpora")
	}
	if _, err := ParseCosignSigner(s.PrivateKey()); err == nil {
		t.Error("a private corpus key cosigns")
	}
}

// The example of the C2SP text verifies in form; its keys are not published.
func TestExampleOfTlogCosignatureHasOurForm(t *testing.T) {
	const note = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n" +
		"— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n" +
		"— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
	text, sigs, err := splitNote([]byte(note))
	if err != nil || len(sigs) != 2 || len(sigs[1].sig) != cosignatureSize || cosignedAt(sigs[1]) != 1679315147 {
		t.Fatalf("%+v, %v", sigs, err)
	}
	want := "cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
	if got := string(cosignedMessage(text, 1679315147)); got != want {
		t.Errorf("signs %q, want %q", got, want)
	}
}

// FuzzCosignatures: a note that any bytes make gives only cosignatures that the
// witness has made, and keeping the known lines keeps exactly those.
func FuzzCosignatures(f *testing.F) {
	for _, row := range cosignRows(f) {
		f.Add([]byte(row.note))
	}
	s := testSigner(f, "peer/main")
	known := []*Cosigner{testWitness(f, "w1", 1).Cosigner(), testWitness(f, "witness.example/é", 2).Cosigner()}
	f.Fuzz(func(t *testing.T, note []byte) {
		found, err := Cosignatures(note, known)
		if err == nil && len(found) > 0 {
			if c, _ := ReadCheckpoint(note); c.Origin != "peer/main" || c.Size != 3 || c.Root != (merkle.Hash{1}) {
				t.Fatalf("forged: %q", note)
			}
		}
		kept, err2 := KeepSignatures(note, []*Verifier{s.Verifier()}, known)
		if err2 != nil {
			return
		}
		again, err3 := KeepSignatures(kept, []*Verifier{s.Verifier()}, known)
		if err3 != nil || string(again) != string(kept) {
			t.Fatalf("kept %q, again %q, %v", kept, again, err3)
		}
		if of, err4 := Cosignatures(kept, known); err4 != nil || err == nil && len(of) != len(found) {
			t.Fatalf("%d cosignatures are left of %d, %v", len(of), len(found), err4)
		}
	})
}
