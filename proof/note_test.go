package proof

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"arborist/merkle"
)

func TestNotesAndKeysAgreeWithSumdbBothWays(t *testing.T) {
	skey, vkey, err := note.GenerateKey(rand.Reader, "example.com/log")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := ParseSigner(skey)
	if err != nil {
		t.Fatal(err)
	}
	if ours.PrivateKey() != skey || ours.Verifier().String() != vkey {
		t.Errorf("keys %s and %s, theirs %s and %s", ours.PrivateKey(), ours.Verifier(), skey, vkey)
	}
	theirSigner, err := note.NewSigner(ours.PrivateKey())
	if err != nil {
		t.Fatal(err)
	}
	theirVerifier, err := note.NewVerifier(ours.Verifier().String())
	if err != nil {
		t.Fatal(err)
	}
	text := Checkpoint{Origin: "example.com/log", Size: 7, Root: merkle.Hash{7}}.Text()
	signed, err := SignNote(text, ours)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := note.Sign(&note.Note{Text: string(text)}, theirSigner)
	if err != nil {
		t.Fatal(err)
	}
	if string(signed) != string(theirs) {
		t.Errorf("our note\n%s\ntheirs\n%s", signed, theirs)
	}
	if n, err := note.Open(signed, note.VerifierList(theirVerifier)); err != nil || n.Text != string(text) {
		t.Errorf("sumdb opens ours: %v", err)
	}
	if c, err := OpenCheckpoint(theirs, ours.Verifier()); err != nil || c.Size != 7 {
		t.Errorf("we open theirs: %+v, %v", c, err)
	}
}

// The examples printed in the C2SP specifications.
func TestExamplesOfC2SPVerify(t *testing.T) {
	v, err := ParseVerifier("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")
	if err != nil {
		t.Fatal(err)
	}
	example := "This is an example message.\n\n" +
		"— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
	text, err := openNote([]byte(example), v)
	if err != nil || string(text) != "This is an example message.\n" {
		t.Errorf("signed-note: %q, %v", text, err)
	}
	cosigned := "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n" +
		"— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n" +
		"— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
	c, err := ReadCheckpoint([]byte(cosigned))
	if err != nil || c.Size != 20852163 || c.Origin != "example.com/behind-the-sofa" {
		t.Errorf("checkpoint: %+v, %v", c, err)
	}
}

type noteRow struct {
	name, note string
	want       error // nil: opens
}

// noteRows lists notes of one key, good and bad.
func noteRows(t *testing.T, s *Signer) []noteRow {
	valid, err := SignCheckpoint(Checkpoint{Origin: "peer/main", Size: 3, Root: merkle.Hash{1}}, s)
	if err != nil {
		t.Fatal(err)
	}
	text, line, _ := strings.Cut(string(valid), "\n\n")
	data := strings.TrimSuffix(strings.TrimPrefix(line, sigPrefix+"peer/main "), "\n")
	foreign := func(name string) string {
		return sigPrefix + name + " " + base64.StdEncoding.EncodeToString([]byte("keyhsignature")) + "\n"
	}
	return []noteRow{
		{"as signed", text + "\n\n" + line, nil},
		{"line of an unknown key after", text + "\n\n" + line + foreign("witness.example/é"), nil},
		{"line of an unknown key before", text + "\n\n" + foreign("w") + line, nil},
		{"our name, another key", text + "\n\n" + foreign("peer/main") + line, nil},
		{"100 signature lines", text + "\n\n" + line + strings.Repeat(foreign("w"), 99), nil},
		{"101 signature lines", text + "\n\n" + line + strings.Repeat(foreign("w"), 100), ErrTooLarge},
		{"over the cap", strings.Repeat("x", MaxNote) + "\n\n" + line, ErrTooLarge},
		{"over the cap by a signature", text + "\n\n" + line + "— w " + strings.Repeat("AAAA", MaxNote/4) + "\n", ErrTooLarge},
		{"our line twice", text + "\n\n" + line + line, ErrFormat},
		{"our line twice, the second wrong", text + "\n\n" + line + sigPrefix + "peer/main " + data[:8] + "AAAA" + data[12:] + "\n", ErrFormat},
		{"only an unknown key", text + "\n\n" + foreign("w"), ErrUnknownKey},
		{"signature changed", text + "\n\n" + sigPrefix + "peer/main " + data[:8] + "AAAA" + data[12:] + "\n", ErrSignature},
		{"signature of 63 bytes", text + "\n\n" + sigPrefix + "peer/main " + base64.StdEncoding.EncodeToString(mustDecode(t, data)[:67]) + "\n", ErrSignature},
		{"signature of 65 bytes", text + "\n\n" + sigPrefix + "peer/main " + base64.StdEncoding.EncodeToString(append(mustDecode(t, data), 0)) + "\n", ErrSignature},
		{"text changed", strings.Replace(text, "\n3\n", "\n4\n", 1) + "\n\n" + line, ErrSignature},
		{"no signature", text + "\n\n", ErrTruncated},
		{"no empty line", text + "\n" + line, ErrFormat},
		{"two empty lines", text + "\n\n\n" + line, ErrSignature},
		{"last newline missing", strings.TrimSuffix(text+"\n\n"+line, "\n"), ErrTruncated},
		{"empty line after", text + "\n\n" + line + "\n", ErrTruncated},
		{"CRLF", strings.ReplaceAll(text+"\n\n"+line, "\n", "\r\n"), ErrFormat},
		{"CR in the text", strings.Replace(text, "\n", "\r\n", 1) + "\n\n" + line, ErrFormat},
		{"tab in the text", "\t" + text + "\n\n" + line, ErrFormat},
		{"zero in the text", "\x00" + text + "\n\n" + line, ErrFormat},
		{"not UTF-8", "\xff" + text + "\n\n" + line, ErrFormat},
		{"unknown line malformed", text + "\n\n" + line + "— w\n", ErrFormat},
		{"unknown line without a name", text + "\n\n" + line + "—  AAAAAAA=\n", ErrFormat},
		{"unknown line with a plus", text + "\n\n" + line + foreign("a+b"), ErrFormat},
		{"unknown line with a wide space", text + "\n\n" + line + foreign("a\u3000b"), ErrFormat},
		{"unknown line with a short signature", text + "\n\n" + line + "— w AAAAAA==\n", ErrFormat},
		{"unknown line with bad base64", text + "\n\n" + line + "— w AAAAAAA\n", ErrFormat},
		{"unused bits set", text + "\n\n" + line + "— w AAAAAAB=\n", ErrFormat},
		{"base64url", text + "\n\n" + line + "— w AAAAAA-_\n", ErrFormat},
		{"CR inside base64", text + "\n\n" + line + "— w AAAA\rAAA=\n", ErrFormat},
		{"space at the end", text + "\n\n" + strings.Replace(line, "\n", " \n", 1), ErrFormat},
		{"empty", "", ErrFormat},
		{"only newlines", "\n\n\n", ErrFormat},
	}
}

func TestNoteIsStrict(t *testing.T) {
	s := testSigner(t, "peer/main")
	for _, row := range noteRows(t, s) {
		c, err := OpenCheckpoint([]byte(row.note), s.Verifier())
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if (err == nil) != (c.Size == 3) {
			t.Errorf("%s: checkpoint %+v with error %v", row.name, c, err)
		}
	}
}

func mustDecode(t *testing.T, s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// badKeys lists what is no verifier key, by name.
func badKeys(vkey, skey string) map[string]string {
	parts := strings.SplitN(vkey, "+", 3)
	return map[string]string{
		"empty":               "",
		"name alone":          parts[0],
		"no key":              parts[0] + "+" + parts[1],
		"empty key":           parts[0] + "+" + parts[1] + "+",
		"empty name":          "+" + parts[1] + "+" + parts[2],
		"another name":        "peer/mail+" + parts[1] + "+" + parts[2],
		"another hash":        parts[0] + "+00000000+" + parts[2],
		"upper-case hash":     parts[0] + "+" + strings.ToUpper(parts[1]) + "+" + parts[2],
		"short hash":          parts[0] + "+" + parts[1][1:] + "+" + parts[2],
		"long hash":           parts[0] + "+0" + parts[1] + "+" + parts[2],
		"space at the end":    vkey + " ",
		"newline at the end":  vkey + "\n",
		"newline inside":      parts[0] + "+" + parts[1] + "+" + parts[2][:8] + "\n" + parts[2][8:],
		"space before":        " " + vkey,
		"key of 31 bytes":     parts[0] + "+" + parts[1] + "+" + base64.StdEncoding.EncodeToString(append([]byte{1}, make([]byte, 31)...)),
		"another type":        parts[0] + "+" + parts[1] + "+" + base64.StdEncoding.EncodeToString(append([]byte{4}, make([]byte, 32)...)),
		"name with a space":   "peer main+" + parts[1] + "+" + parts[2],
		"name with a newline": "peer\nmain+" + parts[1] + "+" + parts[2],
		"over the cap":        strings.Repeat("x", 400) + vkey,
		"private key":         skey,
	}
}

func TestKeyHasOneSpelling(t *testing.T) {
	s := testSigner(t, "peer/main")
	vkey, skey := s.Verifier().String(), s.PrivateKey()
	if v, err := ParseVerifier(vkey); err != nil || *v != *s.Verifier() {
		t.Fatal(err)
	}
	if again, err := ParseSigner(skey); err != nil || again.PrivateKey() != skey {
		t.Fatal(err)
	}
	for name, bad := range badKeys(vkey, skey) {
		if bad == vkey {
			t.Fatalf("%s: it is the key itself", name)
		}
		_, err := ParseVerifier(bad)
		if !errors.Is(err, ErrFormat) {
			t.Errorf("verifier, %s: %v", name, err)
		}
		if name == "private key" && strings.Contains(err.Error(), skey[len(skey)-20:]) {
			t.Errorf("the error shows the secret: %v", err)
		}
		if _, err := ParseSigner("PRIVATE+KEY+" + bad); !errors.Is(err, ErrFormat) {
			t.Errorf("signer, %s: %v", name, err)
		}
		if _, err := ParseSigner(bad); name != "private key" && !errors.Is(err, ErrFormat) {
			t.Errorf("signer without prefix, %s: %v", name, err)
		}
	}
}

func TestKeyNamesAreSafeToShow(t *testing.T) {
	for _, name := range []string{"", "a b", "a+b", "a\nb", "a\tb", "a\x7fb", "a\u0085b", "a\u009bb", "a\u00a0b", "a\u200bb", "a\u202eb", "a\u2028b", "a\ufeffb", "\xff", strings.Repeat("x", 256)} {
		if _, err := NewSigner(name, [32]byte{}); !errors.Is(err, ErrFormat) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for _, name := range []string{"a", testPeer + "/main", "example.com/é", strings.Repeat("x", 255)} {
		if _, err := NewSigner(name, [32]byte{}); err != nil {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestSignerNeverPrintsItsSecret(t *testing.T) {
	s := testSigner(t, "peer/main")
	secret := fmt.Sprintf("%x", s.key.Seed())
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		got := fmt.Sprintf(format, s)
		if got != "signer of peer/main" || strings.Contains(got, secret) {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

// checkpointSpellings lists what is no checkpoint.
func checkpointSpellings(hash string) []spelling {
	return []spelling{
		{"leading zero", "\n12\n", "\n012\n"},
		{"plus", "\n12\n", "\n+12\n"},
		{"space", "\n12\n", "\n 12\n"},
		{"no size", "\n12\n", "\n\n"},
		{"minus", "\n12\n", "\n-12\n"},
		{"2^63", "\n12\n", "\n9223372036854775808\n"},
		{"size 0 with a root", "\n12\n", "\n0\n"},
		{"double zero", "\n12\n", "\n00\n"},
		{"zero root", hash, string(appendHash(nil, merkle.Hash{}))},
		{"31-byte root", hash, hash[:40] + "AA=="},
		{"33-byte root", hash, hash[:43] + "A"},
		{"no padding", hash, hash[:43]},
		{"unused bits", hash, setUnusedBits(hash)},
		{"extension line", hash + "\n", hash + "\nextension\n"},
		{"empty line", hash + "\n", hash + "\n\n"},
		{"no last newline", hash + "\n", hash},
		{"no root", hash + "\n", ""},
		{"CRLF", "\n12\n", "\r\n12\r\n"},
		{"no origin", "peer/main", ""},
		{"origin with a plus", "peer/main", "peer+main"},
		{"origin with a space", "peer/main", "peer main"},
		{"origin with an invisible character", "peer/main", "peer/\u200bmain"},
		{"over the cap", "peer/main", strings.Repeat("x", 400)},
	}
}

func TestCheckpointHasOneSpelling(t *testing.T) {
	root := merkle.Hash{1, 2, 3}
	valid := string(Checkpoint{Origin: "peer/main", Size: 12, Root: root}.Text())
	hash := string(appendHash(nil, root))
	if c, err := ParseCheckpoint([]byte(valid)); err != nil || c != (Checkpoint{"peer/main", 12, root}) {
		t.Fatalf("%+v, %v", c, err)
	}
	empty := Checkpoint{Origin: "peer/main", Root: merkle.EmptyRoot()}
	if c, err := ParseCheckpoint(empty.Text()); err != nil || c != empty {
		t.Errorf("empty log: %+v, %v", c, err)
	}
	for _, row := range checkpointSpellings(hash) {
		if c, err := ParseCheckpoint(respell(t, valid, row)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %+v, %v", row.name, c, err)
		}
	}
}

func TestSignerSignsOnlyItsOwnValidCheckpoints(t *testing.T) {
	s := testSigner(t, "peer/main")
	for name, c := range map[string]Checkpoint{
		"another origin": {"peer/other", 3, merkle.Hash{1}},
		"zero root":      {"peer/main", 3, merkle.Hash{}},
		"size 0":         {"peer/main", 0, merkle.Hash{1}},
	} {
		if note, err := SignCheckpoint(c, s); err == nil {
			t.Errorf("%s: signed\n%s", name, note)
		}
	}
	for _, text := range []string{"", "\n", "no newline", "a\r\n", "\xff\n"} {
		if note, err := SignNote([]byte(text), s); !errors.Is(err, ErrFormat) {
			t.Errorf("text %q: %q, %v", text, note, err)
		}
	}
}

func TestACheckpointIsSignedByEveryKeyGivenOnce(t *testing.T) {
	c := Checkpoint{"peer/main", 3, merkle.Hash{1}}
	old, next := testSigner(t, "peer/main"), secondSigner(t, "peer/main")
	note, err := SignCheckpoint(c, old, next)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Signer{old, next} {
		if got, err := OpenCheckpoint(note, s.Verifier()); err != nil || got != c {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for name, signers := range map[string][]*Signer{"nobody": nil, "one twice": {old, next, old}} {
		if note, err := SignCheckpoint(c, signers...); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %q, %v", name, note, err)
		}
	}
	if note, err := SignCheckpoint(c, old, testSigner(t, "peer/other")); !errors.Is(err, ErrOrigin) {
		t.Errorf("a key of another corpus: %q, %v", note, err)
	}
}

// secondSigner is another key of the same name.
func secondSigner(t testing.TB, name string) *Signer {
	s, err := NewSigner(name, [32]byte{2})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOtherKeysOfANameAreSeen(t *testing.T) {
	key := func(name string, seed byte) *Signer {
		s, err := NewSigner(name, [32]byte{seed})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, second, foreign := key("a", 1), key("a", 2), key("b", 3)
	for _, c := range []struct {
		signers []*Signer
		known   []*Verifier
		want    bool
	}{
		{[]*Signer{first}, []*Verifier{first.Verifier()}, false},
		{[]*Signer{first, foreign}, []*Verifier{first.Verifier()}, false},
		{[]*Signer{first, second}, []*Verifier{first.Verifier()}, true},
		{[]*Signer{second}, []*Verifier{first.Verifier()}, true},
		{[]*Signer{first, second}, []*Verifier{second.Verifier(), first.Verifier()}, false},
	} {
		note, err := SignNote([]byte("text\n"), c.signers...)
		if err != nil {
			t.Fatal(err)
		}
		if got := HasOtherKey(note, c.known...); got != c.want {
			t.Errorf("%q with %d known keys: %t, want %t", note, len(c.known), got, c.want)
		}
	}
	if HasOtherKey([]byte("no note"), first.Verifier()) {
		t.Error("what is no note has a key")
	}
}
