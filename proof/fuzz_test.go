package proof

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

// FuzzParse: whatever parses has this one spelling, an equal twin in the other
// form, and verifies without a panic.
func FuzzParse(f *testing.F) {
	s := testSigner(f, testPeer+"/main")
	d := newTestDocument(numbered(3))
	logged, short := d.logged(f, s, 1, 6, 11), d.proof(f, 2)
	for _, p := range []*Proof{logged, short} {
		text, _ := p.MarshalText()
		twin, _ := p.MarshalJSON()
		f.Add(text)
		f.Add(twin)
	}
	key := s.Verifier()
	var k Checker
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := Parse(file)
		if err != nil {
			return
		}
		text, err1 := p.MarshalText()
		twin, err2 := p.MarshalJSON()
		if err1 != nil || err2 != nil {
			t.Fatalf("parsed, but has no form: %v, %v", err1, err2)
		}
		if !bytes.Equal(file, text) && !bytes.Equal(file, twin) {
			t.Fatalf("second spelling of\n%q\nand\n%q", text, twin)
		}
		for _, other := range [][]byte{text, twin} {
			q, err := Parse(other)
			if err != nil {
				t.Fatalf("own form is refused: %v", err)
			}
			if again, _ := q.MarshalText(); !bytes.Equal(again, text) {
				t.Fatalf("the other form gives %q", again)
			}
		}
		c, err := k.Verify(p, Expect{Key: key, Text: p.Text})
		if err == nil && c.Root != d.header.Root {
			t.Fatalf("a forged proof verifies: %q", file)
		}
	})
}

// FuzzParseEvidence: whatever parses has this one spelling, and what verifies
// against a key are heads that it has signed.
func FuzzParseEvidence(f *testing.F) {
	for _, row := range evidenceRows(f) {
		f.Add(row.file)
	}
	for _, row := range keyedRows(f) {
		f.Add(row.file)
	}
	c := newChangedKey(f)
	for _, e := range []*Evidence{c.between(c.lie, c.later, 50, 70), {Kind: RotationFork, Older: c.rotation.Note(), Newer: c.rotate(f, 70, c.stranger).Note()}} {
		text, err := e.MarshalText()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	s := testSigner(f, testPeer+"/main")
	signed := map[Checkpoint]bool{}
	for _, l := range []testLog{newTestLog(f, s, 80, 30, "one"), newTestLog(f, s, 80, 30, "two"), newTestLog(f, s, 9, 0, "a"), newTestLog(f, s, 9, 0, "b")} {
		for size := range l.tree.Size() + 1 {
			signed[Checkpoint{Origin: s.Name(), Size: size, Root: l.root(size)}] = true
		}
	}
	v := s.Verifier()
	f.Fuzz(func(t *testing.T, file []byte) {
		e, err := ParseEvidence(file)
		if err != nil {
			return
		}
		if again, err := e.MarshalText(); err != nil || !bytes.Equal(again, file) {
			t.Fatalf("second spelling of\n%q, %v", again, err)
		}
		if found, err := e.Verify(v); err == nil && !(signed[found.Older] && signed[found.Newer]) {
			t.Fatalf("forged evidence verifies: %q", file)
		}
	})
}

// FuzzParseRecord: whatever parses is what its line says to any JSON decoder.
func FuzzParseRecord(f *testing.F) {
	add, supersede, withdraw := testRecords(f)
	for _, r := range []Record{add, supersede, withdraw} {
		line, _ := r.Line()
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseRecord(line)
		if err != nil {
			return
		}
		again, err := r.Line()
		if err != nil || !bytes.Equal(again, line) {
			t.Fatalf("second spelling of %q, %v", again, err)
		}
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("not JSON: %v", err)
		}
		title, _ := fields["title"].(string)
		if fields["uri"] != r.URI || title != r.Title || fields["op"] != string(r.Op) {
			t.Fatalf("a JSON decoder reads %v, we read %+v", fields, r)
		}
		if bytes.ContainsAny(line, "\n\r\t\x00\x1b") {
			t.Fatalf("control character in %q", line)
		}
	})
}

// FuzzParseCheckpoint: whatever parses has this one spelling.
func FuzzParseCheckpoint(f *testing.F) {
	f.Add(Checkpoint{Origin: "peer/main", Size: 12, Root: newTestDocument(numbered(1)).leaf(0)}.Text())
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ParseCheckpoint(text); err == nil && !bytes.Equal(c.Text(), text) {
			t.Fatalf("second spelling of %q", c.Text())
		}
	})
}

// FuzzOpenCheckpoint: what we open, sumdb opens with the same text.
func FuzzOpenCheckpoint(f *testing.F) {
	s := testSigner(f, "peer/main")
	c := Checkpoint{Origin: "peer/main", Size: 12, Root: newTestDocument(numbered(1)).leaf(0)}
	signed, err := SignCheckpoint(c, s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(signed)
	f.Add(append(bytes.Clone(signed), "\u2014 w AAAAAAA=\n"...))
	oracle, err := note.NewVerifier(s.Verifier().String())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, n []byte) {
		if _, err := ReadCheckpoint(n); err != nil {
			if _, err := OpenCheckpoint(n, s.Verifier()); err == nil {
				t.Fatal("opens, but cannot be read")
			}
			return
		}
		got, err := OpenCheckpoint(n, s.Verifier())
		if err != nil {
			return
		}
		if got != c {
			t.Fatalf("forged checkpoint %+v", got)
		}
		theirs, err := note.Open(n, note.VerifierList(oracle))
		if err != nil || theirs.Text != string(got.Text()) {
			t.Fatalf("sumdb refuses what we open: %v", err)
		}
	})
}

// FuzzParseKeys: keys that parse have this one spelling, and sumdb takes them.
func FuzzParseKeys(f *testing.F) {
	s := testSigner(f, "peer/main")
	f.Add(s.Verifier().String())
	f.Add(s.PrivateKey())
	f.Fuzz(func(t *testing.T, key string) {
		if v, err := ParseVerifier(key); err == nil {
			if _, err := note.NewVerifier(key); err != nil || v.String() != key {
				t.Fatalf("verifier key %q, sumdb: %v", v, err)
			}
		}
		if s, err := ParseSigner(key); err == nil {
			if _, err := note.NewSigner(key); err != nil || s.PrivateKey() != key {
				t.Fatalf("private key %q, sumdb: %v", key, err)
			}
		} else if secret, ok := strings.CutPrefix(key, privateKeyPrefix); ok && len(secret) > 40 && strings.Contains(err.Error(), secret[len(secret)-40:]) {
			t.Fatalf("the error shows the secret: %v", err)
		}
	})
}
