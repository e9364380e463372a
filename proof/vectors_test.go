package proof

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"unicode/utf8"

	"arborist/document"
	"arborist/merkle"
)

// vectorDir holds the test vectors that docs/formats.md refers to. They are
// written once, with go test ./proof -run TestWriteVectors -update, and read
// by everything that implements the formats.
const vectorDir = "../docs/vectors"

// A vectorFile is one file of vectors.
type vectorFile struct {
	About   string   `json:"about"`
	Format  string   `json:"format"`
	Vectors []vector `json:"vectors"`
}

// A vector is an input with what must come of it.
type vector struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // record, checkpoint, note, filter, key, cosignature, cosigner, rotations, proof or evidence
	// The input: as text, or in hexadecimal where it is not UTF-8.
	Input    string `json:"input,omitempty"`
	InputHex string `json:"input_hex,omitempty"`
	// What the verifier knows from elsewhere.
	Key  string  `json:"key,omitempty"`  // verifier key, of note, filter, proof and evidence
	Root string  `json:"root,omitempty"` // expected, of proof
	ID   string  `json:"id,omitempty"`   // expected, of proof
	Text *string `json:"text,omitempty"` // passage given apart, of proof
	// Rotations is the rotations file that the reader has, of evidence.
	Rotations string `json:"rotations,omitempty"`
	// Witnesses holds the verifier keys of known witnesses, of cosignature.
	Witnesses []string `json:"witnesses,omitempty"`

	Valid  bool           `json:"valid"`
	Reason string         `json:"reason,omitempty"` // why not valid
	Result map[string]any `json:"result,omitempty"` // what a valid input says
}

func (v vector) input() []byte {
	if b, err := hex.DecodeString(v.InputHex); err == nil && len(b) > 0 {
		return b
	}
	return []byte(v.Input)
}

func newVector(kind, name string, input []byte) vector {
	v := vector{Kind: kind, Name: name, Input: string(input)}
	if !utf8.Valid(input) {
		v.Input, v.InputHex = "", hex.EncodeToString(input)
	}
	return v
}

// evaluate runs a vector through this package.
func (v vector) evaluate(t *testing.T) (result map[string]any, err error) {
	t.Helper()
	switch v.Kind {
	case "record":
		r, err := ParseRecord(v.input())
		if err != nil {
			return nil, err
		}
		return recordResult(v.input(), r), nil
	case "checkpoint":
		c, err := ParseCheckpoint(v.input())
		if err != nil {
			return nil, err
		}
		return checkpointResult(c), nil
	case "note":
		c, err := OpenCheckpoint(v.input(), mustKey(t, v.Key))
		if err != nil {
			return nil, err
		}
		return checkpointResult(c), nil
	case "filter":
		f, err := OpenFilter(v.input(), mustKey(t, v.Key))
		if err != nil {
			return nil, err
		}
		result := checkpointResult(f.Head)
		result["filter"] = string(appendHash(nil, f.Sum))
		return result, nil
	case "key":
		k, err := ParseVerifier(string(v.input()))
		if err != nil {
			return nil, err
		}
		return map[string]any{"name": k.name, "id": float64(k.id), "public_key": hex.EncodeToString(k.key[:])}, nil
	case "cosigner":
		c, err := ParseCosigner(string(v.input()))
		if err != nil {
			return nil, err
		}
		return cosignResult(c), nil
	case "cosignature":
		return v.evaluateCosignatures(t)
	case "proof":
		return v.evaluateProof(t)
	case "evidence":
		var chain []Rotation
		if v.Rotations != "" {
			var err error
			if chain, err = ParseRotations([]byte(v.Rotations)); err != nil {
				t.Fatal(err)
			}
		}
		f, err := verifyEvidence(v.input(), mustKey(t, v.Key), chain...)
		if err != nil {
			return nil, err
		}
		return evidenceResult(f), nil
	case "rotations":
		chain, err := ParseRotations(v.input())
		if err != nil {
			return nil, err
		}
		return rotationResult(chain), nil
	}
	t.Fatalf("%s: kind %q", v.Name, v.Kind)
	return nil, nil
}

func (v vector) evaluateProof(t *testing.T) (map[string]any, error) {
	e := Expect{}
	if v.Key != "" {
		e.Key = mustKey(t, v.Key)
	}
	if v.Root != "" {
		root, err := document.ParseRoot(v.Root)
		if err != nil {
			t.Fatal(err)
		}
		e.Root = &root
	}
	if v.ID != "" {
		id, err := document.ParseID(v.ID)
		if err != nil {
			t.Fatal(err)
		}
		e.ID = &id
	}
	if v.Text != nil {
		e.Text = []byte(*v.Text)
	}
	p, err := Parse(v.input())
	if err != nil {
		return nil, err
	}
	c, err := Verify(p, e)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"root": c.Root.String(), "id": c.ID.String(), "chunk": float64(c.Chunk), "chunks": float64(c.Chunks),
		"text_sha256": hex.EncodeToString(c.TextSHA256[:]),
		"corpus":      c.Corpus, "publisher": c.Publisher, "log_size": float64(c.LogSize),
		"statement": c.Statement(),
	}, nil
}

func mustKey(t *testing.T, vkey string) *Verifier {
	t.Helper()
	v, err := ParseVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func recordResult(line []byte, r Record) map[string]any {
	return map[string]any{
		"op": string(r.Op), "id": r.ID.String(), "uri": r.URI, "title": r.Title,
		"leaf": string(appendHash(nil, merkle.LeafHash(line))),
	}
}

func checkpointResult(c Checkpoint) map[string]any {
	return map[string]any{"origin": c.Origin, "size": strconv.FormatUint(c.Size, 10), "root": string(appendHash(nil, c.Root))}
}

func evidenceResult(f Finding) map[string]any {
	return map[string]any{
		"kind": string(f.Kind), "older": checkpointResult(f.Older), "newer": checkpointResult(f.Newer),
		"consistent": f.Consistent, "statement": f.Statement(),
	}
}

// reasonOf names the kind of an error as proof/report does.
func reasonOf(err error) string {
	for _, r := range []struct {
		err  error
		name string
	}{
		{ErrRotation, "key_replaced"}, {ErrNoPassage, "passage_missing"}, {ErrNotLogged, "not_logged"}, {ErrOrigin, "other_corpus"},
		{ErrUnknownKey, "unknown_key"}, {ErrSignature, "bad_signature"}, {ErrDocument, "wrong_document"},
		{ErrTruncated, "truncated"}, {ErrVersion, "version"}, {ErrTooLarge, "too_large"},
		{ErrTampered, "tampered"}, {ErrFormat, "malformed"},
	} {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return "?"
}

func TestVectors(t *testing.T) {
	good, bad := 0, 0
	for _, name := range []string{"record.json", "checkpoint.json", "note.json", "filter-note.json", "cosignature.json", "rotation.json", "proof.json", "evidence.json", "evidence-rotation.json"} {
		b, err := os.ReadFile(filepath.Join(vectorDir, name))
		if err != nil {
			t.Fatal(err)
		}
		var file vectorFile
		if err := json.Unmarshal(b, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		seen := map[string]bool{}
		for _, v := range file.Vectors {
			if seen[v.Kind+v.Name] {
				t.Errorf("%s: two vectors are named %q", name, v.Name)
			}
			seen[v.Kind+v.Name] = true
			result, err := v.evaluate(t)
			if v.Valid {
				good++
				if err != nil {
					t.Errorf("%s, %s: %v", name, v.Name, err)
				} else if got, want := asJSON(t, result), asJSON(t, v.Result); got != want {
					t.Errorf("%s, %s:\n got %s\nwant %s", name, v.Name, got, want)
				}
				continue
			}
			bad++
			if err == nil || reasonOf(err) != v.Reason {
				t.Errorf("%s, %s: %v, want the reason %s", name, v.Name, err, v.Reason)
			}
		}
	}
	t.Logf("%d valid, %d not", good, bad)
	if good < 30 || bad < 150 {
		t.Errorf("only %d valid and %d other vectors", good, bad)
	}
}

func asJSON(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
