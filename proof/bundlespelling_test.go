package proof

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// bundleSpellings lists second spellings of both forms of testAnswer's bundle.
func bundleSpellings(t *testing.T, b *Bundle) []spelledForm {
	text, twin := mustForms(t, b)
	path0 := string(appendHash(nil, b.Logs[0].Path[0]))
	chunk0 := string(appendHash(nil, b.Documents[0].Path[0]))
	return []spelledForm{
		{"text", string(text), []spelling{
			{"no version", bundleVersion + "\n", ""},
			{"a proof's version", "arborist-bundle/1", "arborist-proof/1"},
			{"white space before", "arborist-bundle", " arborist-bundle"},
			{"byte order mark", "arborist-bundle", "\ufeffarborist-bundle"},
			{"CRLF at the first line", "bundle/1\n", "bundle/1\r\n"},
			{"count of hits", "bundle/1\n", "bundle/1\nhits 7\n"},
			{"space at a hit's end", "hit 1 3\n", "hit 1 3 \n"},
			{"two spaces in a hit", "hit 1 3\n", "hit 1  3\n"},
			{"leading zero in a hit", "hit 1 3\n", "hit 1 03\n"},
			{"plus in a hit", "hit 1 3\n", "hit +1 3\n"},
			{"hit of one number", "hit 1 3\n", "hit 1\n"},
			{"hit of three numbers", "hit 1 3\n", "hit 1 3 1\n"},
			{"hit over 2^63", "hit 1 3\n", "hit 1 9223372036854775808\n"},
			{"no empty line after the hits", "\n\nlog\n", "\nlog\n"},
			{"two empty lines after the hits", "\n\nlog\n", "\n\n\nlog\n"},
			{"log with a name", "\nlog\n", "\nlog main\n"},
			{"log size with a leading zero", "/main\n11\n", "/main\n011\n"},
			{"extension line", "\n\n\u2014 ", "\nextension\n\n\u2014 "},
			{"CRLF in the note", "/main\n", "/main\r\n"},
			{"unused bits set", path0 + "\n", setUnusedBits(path0) + "\n"},
			{"hash without padding", path0 + "\n", path0[:43] + "\n"},
			{"a hash more", path0 + "\n", path0 + "\n" + path0 + "\n"},
			{"a hash less", path0 + "\n", ""},
			{"a chunk's hash less", chunk0 + "\n", ""},
			{"record index with a leading zero", "record 2\n", "record 02\n"},
			{"white space in the record", `{"op"`, `{ "op"`},
			{"no record index", "record 2\n", ""},
			{"header beside the record", `{"op"`, string(b.Logs[0].Documents[0].Header.Text()) + `{"op"`},
			{"chunk index with a leading zero", "\nchunk 4 ", "\nchunk 04 "},
			{"passage length with a leading zero", "\nchunk 4 ", "\nchunk 4 0"},
			{"passage one byte longer", "second Chunk 4", "second  Chunk 4"},
			{"passage one byte shorter", "second Chunk 4", "secondChunk 4"},
			{"document line missing", "document " + b.Documents[0].Header.ID().String() + "\n", ""},
			{"upper-case CID", "document bafkrei", "document BAFKREI"},
			{"header chunks with a leading zero", "\nchunks 4\n", "\nchunks 04\n"},
			{"unknown line", "\ndocument ", "\nnote x\ndocument "},
		}},
		{"JSON", string(twin), []spelling{
			{"white space before", `{"format"`, ` {"format"`},
			{"white space inside", `{"format"`, `{ "format"`},
			{"white space after a comma", `],"logs"`, `], "logs"`},
			{"key twice", `"logs":`, `"logs":[],"logs":`},
			{"unknown key", `"logs":`, `"x":1,"logs":`},
			{"key in another case", `"logs":`, `"Logs":`},
			{"key missing", `"chunk":4,`, ``},
			{"escaped slash", `arborist-bundle/1`, `arborist-bundle\/1`},
			{"escaped letter", `"format":"a`, `"format":"\u0061`},
			{"exponent", `[1,3]`, `[1,3e0]`},
			{"fraction", `[1,3]`, `[1,3.0]`},
			{"minus zero", `[1,0]`, `[1,-0]`},
			{"hit of three numbers", `[1,3]`, `[1,3,1]`},
			{"hit of one number", `[1,3]`, `[1]`},
			{"hit as an object", `[1,3]`, `{"document":1,"chunk":3}`},
			{"null for hits", `"hits":[`, `"hits":null,"x":[`},
			{"trailing comma", `],"logs"`, `,],"logs"`},
			{"hash null", `"hashes":["`, `"hashes":[null,"`},
			{"hash with a line end inside", `"hashes":["` + path0, `"hashes":["` + path0[:20] + `\n` + path0[20:]},
			{"unused bits set", path0, setUnusedBits(path0)},
			{"passage without padding", `="}],"path"`, `"}],"path"`},
			{"lax escape of &", `\u0026`, `&`},
			{"upper-case escape", `\u003c`, `\u003C`},
			{"record and document", `"record":`, `"document":"","record":`},
			{"index as a string", `"index":2`, `"index":"2"`},
			{"index missing", `"index":2,`, ``},
		}},
	}
}

func TestBundleHasOneSpelling(t *testing.T) {

	b := mustBundle(t, spellingAnswer(t).proofs)
	for _, form := range bundleSpellings(t, b) {
		for _, row := range form.rows {
			if _, err := ParseBundle(respell(t, form.valid, row)); !errors.Is(err, ErrFormat) && !errors.Is(err, ErrTampered) {
				t.Errorf("%s, %s: %v", form.name, row.name, err)
			}
		}
		for name, file := range map[string]string{
			"newline after the end": form.valid + "\n",
			"zero after the end":    form.valid + "\x00",
			"itself again":          form.valid + form.valid,
			"empty":                 "",
			"all lines CRLF":        strings.ReplaceAll(form.valid, "\n", "\r\n") + "\r\n",
		} {
			if _, err := ParseBundle([]byte(file)); !errors.Is(err, ErrFormat) {
				t.Errorf("%s, %s: %v", form.name, name, err)
			}
		}
		newer := strings.Replace(form.valid, "arborist-bundle/1", "arborist-bundle/2", 1)
		if _, err := ParseBundle([]byte(newer)); !errors.Is(err, ErrVersion) || !IsBundle([]byte(newer)) {
			t.Errorf("%s, newer version: %v", form.name, err)
		}
		if _, err := Parse([]byte(form.valid)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s, parsed as a proof: %v", form.name, err)
		}
	}
}

// spellingAnswer is testAnswer with a record that JSON escapes.
func spellingAnswer(t *testing.T) answer {
	a := testAnswer(t)
	d := newTestDocument(labelled("fourth", 2))
	p := d.proof(t, 1)
	s := testSigner(t, testPeer+"/zoo")
	p.Log = newAnswerLog(t, s, 2, map[int]Record{0: d.record("https://example.org/a?b=1&c=<2>")}).part(t, 0)
	a.proofs = append(a.proofs, p)
	return a
}

// FuzzParseBundle: whatever parses has this one spelling, an equal twin in the
// other form, and verifies exactly where its single proofs do.
func FuzzParseBundle(f *testing.F) {
	a := testAnswer(f)
	for _, proofs := range [][]*Proof{a.proofs, a.proofs[:1], a.proofs[1:2]} {
		text, twin := mustForms(f, mustBundle(f, proofs))
		f.Add(text)
		f.Add(twin)
	}
	var k Checker
	f.Fuzz(func(t *testing.T, file []byte) {
		b, err := ParseBundle(file)
		if err != nil {
			return
		}
		text, twin := mustForms(t, b)
		if !bytes.Equal(file, text) && !bytes.Equal(file, twin) {
			t.Fatalf("second spelling of\n%q\nand\n%q", text, twin)
		}
		for _, other := range [][]byte{text, twin} {
			q, err := ParseBundle(other)
			if err != nil {
				t.Fatalf("own form is refused: %v", err)
			}
			if again, _ := mustForms(t, q); !bytes.Equal(again, text) {
				t.Fatalf("the other form gives %q", again)
			}
		}
		_, bundleErr := k.VerifyBundle(b, ExpectBundle{})
		singles, err := b.Proofs()
		if err != nil {
			t.Fatal(err)
		}
		var singleErr error
		for _, p := range singles {
			if _, err := Verify(p, Expect{}); err != nil {
				singleErr = err
			}
		}
		if (bundleErr == nil) != (singleErr == nil) {
			t.Fatalf("bundle: %v, single proofs: %v", bundleErr, singleErr)
		}
	})
}
