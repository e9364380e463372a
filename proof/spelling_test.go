package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"arborist/document"
)

// spelling is another way to write something valid, which must be refused.
type spelling struct {
	name string
	old  string // what to replace, once
	new  string
}

func respell(t *testing.T, valid string, s spelling) []byte {
	t.Helper()
	if !strings.Contains(valid, s.old) {
		t.Fatalf("%s: no %q in\n%s", s.name, s.old, valid)
	}
	return []byte(strings.Replace(valid, s.old, s.new, 1))
}

// spellingProof gives a logged and a short proof with the same passage.
func spellingProof(t *testing.T) (logged, short *Proof, e Expect) {
	s := testSigner(t, testPeer+"/main")
	d := newTestDocument(numbered(9))
	return d.logged(t, s, 3, 6, 11), d.proof(t, 3), Expect{Key: s.Verifier()}
}

// A spelledForm is a valid file with other spellings of it.
type spelledForm struct {
	name  string
	valid string
	rows  []spelling
}

// textSpellings lists second spellings of the text form.
func textSpellings(t *testing.T, logged, short *Proof) []spelledForm {
	path0 := string(appendHash(nil, logged.Chunk.Path[0]))
	entry0 := string(appendHash(nil, logged.Log.Entry.Path[0]))
	both := []spelling{
		{"no version", "arborist-proof/2\n", ""},
		{"another name", "arborist-proof/2\n", "arborist-prof/1\n"},
		{"white space before", "arborist", " arborist"},
		{"byte order mark", "arborist", "\ufeffarborist"},
		{"CRLF at the first line", "proof/2\n", "proof/2\r\n"},
		{"space at a line's end", "chunk 3\n", "chunk 3 \n"},
		{"two spaces", "chunk 3\n", "chunk  3\n"},
		{"tab", "chunk 3\n", "chunk\t3\n"},
		{"leading zero", "chunk 3\n", "chunk 03\n"},
		{"plus sign", "chunk 3\n", "chunk +3\n"},
		{"minus sign", "chunk 3\n", "chunk -3\n"},
		{"hexadecimal", "chunk 3\n", "chunk 0x3\n"},
		{"digit separator", "chunk 3\n", "chunk 0_3\n"},
		{"other digits", "chunk 3\n", "chunk ٣\n"},
		{"no number", "chunk 3\n", "chunk \n"},
		{"over 2^63", "chunk 3\n", "chunk 9223372036854775808\n"},
		{"over 2^64", "chunk 3\n", "chunk 18446744073709551619\n"},
		{"upper-case key", "chunk 3\n", "Chunk 3\n"},
		{"empty line before the path", "chunk 3\n", "chunk 3\n\n"},
		{"hash without padding", path0 + "\n", path0[:43] + "\n"},
		{"hash with two paddings", path0 + "\n", path0 + "=\n"},
		{"hash with a space", path0 + "\n", path0 + " \n"},
		{"hash with a line end inside", path0 + "\n", path0[:20] + "\n" + path0[20:] + "\n"},
		{"hash with a CR inside", path0 + "\n", path0[:20] + "\r" + path0[20:] + "\n"},
		{"hash of 31 bytes", path0 + "\n", path0[:40] + "AA==\n"},
		{"hash of 33 bytes", path0 + "\n", path0[:43] + "A\n"},
		{"hash in base64url", path0 + "\n", strings.NewReplacer("+", "-", "/", "_").Replace("+/"+path0[2:]) + "\n"},
		{"hash in hexadecimal", path0 + "\n", strings.Repeat("ab", 32) + "\n"},
		{"unused bits set", path0 + "\n", setUnusedBits(path0) + "\n"},
		{"a hash more", path0 + "\n", path0 + "\n" + path0 + "\n"},
		{"a hash less", path0 + "\n", ""},
		{"no empty line after the path", "\n\n", "\n"},
		{"passage length with a leading zero", "passage ", "passage 0"},
		{"passage one byte longer than stated", "Chunk 3 of", "Chunk  3 of"},
		{"passage one byte shorter than stated", "Chunk 3 of", "Chunk3 of"},
		{"empty passage", "passage ", "passage 0\n"},
		{"no word passage", "passage ", ""},
		{"an unknown line", "passage ", "note x\npassage "},
	}
	return []spelledForm{
		{"logged", mustText(t, logged), append([]spelling{
			{"tlog extra line", "\nindex 6\n", "\nextra AAAA\nindex 6\n"},
			{"another tlog version", "tlog-proof@v1", "tlog-proof@v2"},
			{"record index with a leading zero", "index 6\n", "index 06\n"},
			{"entry unused bits set", entry0 + "\n", setUnusedBits(entry0) + "\n"},
			{"log size with a leading zero", "/main\n11\n", "/main\n011\n"},
			{"log size with a plus", "/main\n11\n", "/main\n+11\n"},
			{"extension line", "\n\n\u2014 ", "\nextension\n\n\u2014 "},
			{"hyphen for the dash", "\n\u2014 ", "\n- "},
			{"two spaces in a signature line", "\n\u2014 ", "\n\u2014  "},
			{"CRLF at a signature line", "\npassage ", "\r\npassage "},
			{"a header too", `{"op"`, string(logged.Header.Text()) + `{"op"`},
			{"white space in the record", `{"op"`, `{ "op"`},
			{"the ID too", `","root"`, `","id":"` + logged.Log.Record.ID.String() + `","root"`},
			{"a withdraw", `"op":"add"`, `"op":"withdraw"`},
			{"empty line after the note", "\npassage ", "\n\npassage "},
		}, both...)},
		{"short", mustText(t, short), append([]spelling{
			{"no document line", "document " + short.Header.ID().String() + "\n", ""},
			{"upper-case CID", "document bafkrei", "document BAFKREI"},
			{"header key order", "root ", "chunks 9\nroot "},
			{"header chunks with a leading zero", "\nchunks 9\n", "\nchunks 09\n"},
			{"header with CRLF", "\nchunks 9\n", "\nchunks 9\r\n"},
			{"header version", "arborist-document/1", "arborist-document/2"},
			{"empty line after the header", "\npassage ", "\n\npassage "},
		}, both...)},
	}
}

func TestTextFormHasOneSpelling(t *testing.T) {
	logged, short, _ := spellingProof(t)
	for _, form := range textSpellings(t, logged, short) {
		valid := form.valid
		for _, row := range form.rows {
			if p, err := Parse(respell(t, valid, row)); err == nil {
				t.Errorf("%s, %s: parsed as %+v", form.name, row.name, p)
			}
		}
		for name, file := range map[string]string{
			"newline after the end": valid + "\n",
			"zero after the end":    valid + "\x00",
			"itself again":          valid + valid,
			"all lines CRLF":        strings.ReplaceAll(valid, "\n", "\r\n"),
			"UTF-16":                "\xfe\xff" + valid,
			"empty":                 "",
		} {
			if _, err := Parse([]byte(file)); !errors.Is(err, ErrFormat) {
				t.Errorf("%s, %s: %v", form.name, name, err)
			}
		}
		if _, err := Parse([]byte(strings.Replace(valid, "arborist-proof/2", "arborist-proof/3", 1))); !errors.Is(err, ErrVersion) {
			t.Errorf("%s, newer version: %v", form.name, err)
		}
	}
	if _, err := Parse(make([]byte, MaxFile+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("large file: %v", err)
	}
}

// setUnusedBits writes 32 bytes of base64 with the two bits set that no byte
// uses: lax decoders read the same hash.
func setUnusedBits(hash string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	return hash[:42] + string(alphabet[strings.IndexByte(alphabet, hash[42])|1]) + "="
}

// jsonSpellings lists second spellings of the JSON form.
func jsonSpellings(t *testing.T, logged, short *Proof) []spelledForm {
	both := []spelling{
		{"white space before", `{"format"`, ` {"format"`},
		{"white space inside", `{"format"`, `{ "format"`},
		{"white space after a colon", `"chunk":3`, `"chunk": 3`},
		{"line end inside", `,"chunk"`, ",\n\"chunk\""},
		{"key twice", `"chunk":3`, `"chunk":3,"chunk":3`},
		{"key twice, another value first", `"chunk":3`, `"chunk":4,"chunk":3`},
		{"unknown key", `"chunk":3`, `"chunk":3,"leaf":""`},
		{"key in another case", `"chunk"`, `"Chunk"`},
		{"escaped key", `"chunk"`, `"\u0063hunk"`},
		{"escaped value", `"format":"a`, `"format":"\u0061`},
		{"escaped slash", `arborist-proof/2`, `arborist-proof\/2`},
		{"exponent", `"chunk":3`, `"chunk":3e0`},
		{"fraction", `"chunk":3`, `"chunk":3.0`},
		{"number as a string", `"chunk":3`, `"chunk":"3"`},
		{"minus zero", `"chunk":3`, `"chunk":-0`},
		{"null", `"chunk":3`, `"chunk":null`},
		{"key missing", `"chunk":3,`, ``},
		{"another order", `"format":"arborist-proof/2","chunk":3`, `"chunk":3,"format":"arborist-proof/2"`},
		{"path null", `"path":[`, `"path":null,"path":[`},
		{"path with null", `"path":[`, `"path":[null,`},
		{"passage null", `"passage":"`, `"passage":null,"passage":"`},
		{"passage without padding", `"passage":"Q`, `"passage":"AQ`},
		{"line end inside base64", `"passage":"Q`, `"passage":"\nQ`},
		{"empty passage too", `"passage":"`, `"passage":"","passage":"`},
		{"header and record", `"passage":`, `"header":"","record":"","passage":`},
	}
	return []spelledForm{
		{"logged", mustTwin(t, logged), append([]spelling{
			{"header beside the record", `"record":`, `"header":"x","record":`},
			{"document beside the record", `"record":`, `"document":"` + short.Header.ID().String() + `","record":`},
			{"the ID too", `\",\"root\"`, `\",\"id\":\"` + logged.Log.Record.ID.String() + `\",\"root\"`},
			{"no index", `"index":6,`, ``},
			{"no hashes", `"hashes":`, `"hashs":`},
			{"no checkpoint", `"checkpoint":`, `"checkpoints":`},
			{"lax escape of &", `\u0026`, `&`},
			{"upper-case escape", `\u003c`, `\u003C`},
		}, both...)},
		{"short", mustTwin(t, short), append([]spelling{
			{"index in the short form", `"passage":`, `"index":0,"passage":`},
			{"hashes in the short form", `"passage":`, `"hashes":[],"passage":`},
			{"checkpoint in the short form", `"passage":`, `"checkpoint":"x","passage":`},
			{"no document", `"document":"` + short.Header.ID().String() + `",`, ``},
		}, both...)},
	}
}

func mustText(t *testing.T, p *Proof) string {
	t.Helper()
	b, err := p.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// mustTwin encodes as a program does that holds a proof in a larger value.
func mustTwin(t *testing.T, p *Proof) string {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if own, err := p.MarshalJSON(); err != nil || !bytes.Equal(own, b) {
		t.Errorf("encoding/json changes what MarshalJSON gives: %v", err)
	}
	return string(b)
}

func TestJSONFormHasOneSpelling(t *testing.T) {
	logged, short, _ := spellingProof(t)
	for _, form := range jsonSpellings(t, logged, short) {
		valid := form.valid
		for _, row := range form.rows {
			if p, err := Parse(respell(t, valid, row)); err == nil {
				t.Errorf("%s, %s: parsed as %+v", form.name, row.name, p)
			}
		}
		for name, file := range map[string]string{
			"newline after the end": valid + "\n",
			"itself again":          valid + valid,
			"in an array":           "[" + valid + "]",
		} {
			if _, err := Parse([]byte(file)); !errors.Is(err, ErrFormat) {
				t.Errorf("%s, %s: %v", form.name, name, err)
			}
		}
		if _, err := Parse([]byte(strings.Replace(valid, "proof/2", "proof/3", 1))); !errors.Is(err, ErrVersion) {
			t.Errorf("%s, newer version: %v", form.name, err)
		}
	}
}

func TestFormsHoldNeitherKeyNorUnboundHash(t *testing.T) {
	logged, short, e := spellingProof(t)
	logged.Text, short.Text = nil, nil
	leaf := string(appendHash(nil, newTestDocument(numbered(9)).leaf(3)))
	for _, p := range []*Proof{logged, short} {
		text, _ := p.MarshalText()
		twin, _ := p.MarshalJSON()
		for _, file := range []string{string(text), string(twin)} {
			if strings.Contains(file, leaf) {
				t.Errorf("the leaf hash stands in\n%s", file)
			}
			if _, key, _ := strings.Cut(strings.TrimPrefix(e.Key.String(), e.Key.Name()+"+"), "+"); strings.Contains(file, key) {
				t.Errorf("the key stands in\n%s", file)
			}
		}
	}
}

// The promise of docs/formats.md: without its passage, the proof of a chunk of
// a 1,000-chunk document in a log of 10⁶ records fits in 2 KiB, where URI,
// title and source have 151 bytes together or, beside the ID of a document that
// was superseded, 70.
func TestProofOfAMillionRecordLogFitsIn2KiB(t *testing.T) {
	_, p, key := benchProofs(t)
	if _, err := Verify(p, Expect{Key: key}); err != nil {
		t.Fatal(err)
	}
	p.Text = nil
	if len(p.Chunk.Path) != 10 || len(p.Log.Entry.Path) != 20 {
		t.Fatalf("paths of %d and %d hashes are not the longest", len(p.Chunk.Path), len(p.Log.Entry.Path))
	}
	r := &p.Log.Record
	// Numbers as long as such a document has.
	r.Header.Bytes, p.Chunk.Index = 1_536_000, 512
	r.URI, r.Source = "https://example.org/", "crawl"
	for _, row := range []struct {
		supersedes document.ID
		op         Op
		room       int
	}{{document.ID{}, OpAdd, 151}, {document.ID{9}, OpSupersede, 70}} {
		r.Op, r.Supersedes = row.op, row.supersedes
		r.Title = strings.Repeat("t", row.room-len(r.URI)-len(r.Source))
		p.Header, r.ID = r.Header, r.Header.ID()
		file, err := p.MarshalText()
		if err != nil || len(file) > 2048 {
			t.Errorf("%s: %d bytes, %v:\n%s", row.op, len(file), err, file)
		}
		t.Logf("%s: %d bytes", row.op, len(file))
	}
}
