package proof

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

// A bundleVector is a bundle file with what must come of it.
type bundleVector struct {
	Name     string        `json:"name"`
	Input    string        `json:"input,omitempty"`     // the file, as text
	InputHex string        `json:"input_hex,omitempty"` // or in hexadecimal where it is not UTF-8
	Keys     []string      `json:"keys,omitempty"`      // verifier keys of corpora
	Valid    bool          `json:"valid"`
	Reason   string        `json:"reason,omitempty"` // why not valid
	Result   *bundleResult `json:"result,omitempty"` // what a valid one says
}

type bundleResult struct {
	Hits    []map[string]any `json:"hits"`
	Corpora []map[string]any `json:"corpora"`
}

func (v bundleVector) evaluate(t *testing.T) (*bundleResult, error) {
	t.Helper()
	file := []byte(v.Input)
	if v.InputHex != "" {
		file, _ = hex.DecodeString(v.InputHex)
	}
	var e ExpectBundle
	for _, k := range v.Keys {
		e.Keys = append(e.Keys, mustKey(t, k))
	}
	b, err := ParseBundle(file)
	if err != nil {
		return nil, err
	}
	claims, err := VerifyBundle(b, e)
	if err != nil {
		return nil, err
	}
	r := &bundleResult{Hits: []map[string]any{}, Corpora: []map[string]any{}}
	for _, c := range claims.Hits {
		r.Hits = append(r.Hits, map[string]any{
			"root": c.Root.String(), "id": c.ID.String(), "chunk": c.Chunk, "chunks": c.Chunks,
			"text_sha256": hex.EncodeToString(c.TextSHA256[:]),
			"corpus":      c.Corpus, "publisher": c.Publisher, "log_size": c.LogSize,
			"statement": c.Statement(),
		})
	}
	for _, c := range claims.Corpora {
		r.Corpora = append(r.Corpora, map[string]any{
			"origin": c.Origin, "log_size": c.Size, "hits": c.Hits, "signature_checked": c.SignatureChecked,
		})
	}
	return r, nil
}

// TestWriteVectorsOfBundles is [TestWriteVectors] for docs/vectors/bundle.json.
func TestWriteVectorsOfBundles(t *testing.T) {
	all := bundleVectors(t)
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n\"about\": %q,\n\"format\": %q,\n\"vectors\": [\n",
		"Bundle files in both forms, with the keys that their verifier has. A log without a key is not checked.", bundleVersion)
	for i, v := range all {
		var err error
		if v.Result, err = v.evaluate(t); err != nil {
			v.Reason = reasonOf(err)
		}
		v.Valid = err == nil
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		if i < len(all)-1 {
			b.Truncate(b.Len() - 1) // one object a line
			b.WriteString(",\n")
		}
	}
	b.WriteString("]\n}\n")
	writeOrCompare(t, "bundle.json", b.Bytes())
}

func bundleVectors(t *testing.T) (all []bundleVector) {
	add := func(name string, file []byte, keys ...*Verifier) {
		v := bundleVector{Name: name, Input: string(file)}
		if !utf8.Valid(file) {
			v.Input, v.InputHex = "", hex.EncodeToString(file)
		}
		for _, k := range keys {
			v.Keys = append(v.Keys, k.String())
		}
		all = append(all, v)
	}
	a := testAnswer(t)
	both := func(name string, proofs []*Proof, keys ...*Verifier) {
		text, twin := mustForms(t, mustBundle(t, proofs))
		add(name+", text", text, keys...)
		add(name+", JSON", twin, keys...)
	}
	both("two corpora and a document in none, both keys", a.proofs, a.keys()...)
	both("two corpora and a document in none, one key", a.proofs, a.keys()[0])
	both("two corpora and a document in none, no key", a.proofs)
	both("one hit", a.proofs[:1], a.keys()[0])
	both("one hit in no corpus", a.proofs[1:2])
	both("the only chunk of a document", a.proofs[2:3], a.keys()[1])
	whole := newTestDocument(numbered(5))
	both("all chunks of a document", []*Proof{whole.proof(t, 4), whole.proof(t, 0), whole.proof(t, 2), whole.proof(t, 1), whole.proof(t, 3)})
	cosigned := testAnswer(t)
	cosigned.proofs[2].Log.Note = append(cosigned.proofs[2].Log.Note, "\u2014 witness.example AAAAAAECAwQ=\n"...)
	both("line of an unknown witness", cosigned.proofs, a.keys()...)
	binary := newTestDocument([][]byte{[]byte("\xff\xfe\x00 not UTF-8"), []byte("x")})
	both("passage that is not UTF-8", []*Proof{binary.proof(t, 0)})
	for _, row := range bundleRefusals(t, a) {
		fresh := testAnswer(t)
		b, e := mustBundle(t, fresh.proofs), ExpectBundle{Keys: fresh.keys()}
		row.change(b, &e)
		add("refused: "+row.name, rawBundle(t, b, (*Bundle).encodeText), e.Keys...)
	}
	b := mustBundle(t, spellingAnswer(t).proofs)
	for _, form := range bundleSpellings(t, b) {
		for _, row := range form.rows {
			add(form.name+": "+row.name, respell(t, form.valid, row))
		}
	}
	text, twin := mustForms(t, mustBundle(t, a.proofs[:1]))
	for i, file := range [][]byte{text, twin} {
		name := []string{"text", "JSON"}[i]
		add(name+": newline after the end", append(bytes.Clone(file), '\n'))
		add(name+": newer version", bytes.Replace(file, []byte("bundle/1"), []byte("bundle/2"), 1))
		add(name+": cut", file[:len(file)-1])
	}
	return all
}

func TestBundleVectors(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(vectorDir, "bundle.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []bundleVector }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	good, bad := 0, 0
	seen := map[string]bool{}
	for _, v := range file.Vectors {
		if seen[v.Name] {
			t.Errorf("two vectors are named %q", v.Name)
		}
		seen[v.Name] = true
		result, err := v.evaluate(t)
		if !v.Valid {
			bad++
			if err == nil || reasonOf(err) != v.Reason {
				t.Errorf("%s: %v, want the reason %s", v.Name, err, v.Reason)
			}
			continue
		}
		good++
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
		} else if got, want := asJSON(t, result), asJSON(t, v.Result); got != want {
			t.Errorf("%s:\n got %s\nwant %s", v.Name, got, want)
		}
	}
	t.Logf("%d valid, %d not", good, bad)
	if good < 15 || bad < 100 {
		t.Errorf("only %d valid and %d other vectors", good, bad)
	}
}
