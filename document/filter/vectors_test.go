package filter

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"arborist/document"
)

var update = flag.Bool("update", false, "rewrite docs/vectors/filter.json from the code")

type vectorFile struct {
	About   string   `json:"about"`
	Format  string   `json:"format"`
	Vectors []vector `json:"vectors"`
}

// A vector is a filter, or what is none. Another implementation may build others
// of the same roots, by another seed or in another order: they are as valid.
type vector struct {
	Name  string          `json:"name"`
	Bytes string          `json:"bytes"` // hexadecimal
	Valid bool            `json:"valid"`
	Roots int             `json:"roots,omitempty"`
	Holds []document.Root `json:"holds,omitempty"` // may be held
	Lacks []document.Root `json:"lacks,omitempty"` // certainly not
}

func vectors(t *testing.T) (all []vector) {
	for _, n := range []int{0, 1, 2, 3, 16, 100} {
		v := vector{Name: fmt.Sprint(n, " roots"), Bytes: hex.EncodeToString(filterOf(t, n).Bytes()), Valid: true, Roots: n}
		for i := range n {
			v.Holds = append(v.Holds, rootOf(i))
		}
		for i := range 3 {
			v.Lacks = append(v.Lacks, rootOf(1000+i))
		}
		all = append(all, v)
	}
	valid := filterOf(t, 2).Bytes()
	changed := func(fn func([]byte) []byte) string { return hex.EncodeToString(fn(bytes.Clone(valid))) }
	return append(all,
		vector{Name: "empty"},
		vector{Name: "another version", Bytes: changed(func(b []byte) []byte { b[len(Version)-2] = '2'; return b })},
		vector{Name: "header cut", Bytes: changed(func(b []byte) []byte { return b[:headSize-1] })},
		vector{Name: "a byte less", Bytes: changed(func(b []byte) []byte { return b[:len(b)-1] })},
		vector{Name: "a byte more", Bytes: changed(func(b []byte) []byte { return append(b, 0) })},
		vector{Name: "one root more than the slots are for", Bytes: changed(func(b []byte) []byte { b[len(Version)+3] = 9; return b })},
		vector{Name: "more roots than there may be", Bytes: changed(func(b []byte) []byte { b[len(Version)] = 1; return b })},
	)
}

func TestFilterVectors(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "vectors", "filter.json")
	if *update {
		writeVectors(t, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file vectorFile
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if n := len(vectors(t)); len(file.Vectors) != n {
		t.Fatalf("%d vectors, want %d", len(file.Vectors), n)
	}
	for _, v := range file.Vectors {
		b, err := hex.DecodeString(v.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(b)
		if !v.Valid {
			if !errors.Is(err, ErrFormat) {
				t.Errorf("%s: %v, want ErrFormat", v.Name, err)
			}
			continue
		}
		if err != nil || f.Roots() != v.Roots {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		for _, r := range v.Holds {
			if !f.MayHold(r) {
				t.Errorf("%s: %s is denied", v.Name, r)
			}
		}
		for _, r := range v.Lacks {
			if f.MayHold(r) {
				t.Errorf("%s: %s is not denied", v.Name, r)
			}
		}
	}
}

// writeVectors writes one vector a line.
func writeVectors(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n\"about\": %q,\n\"format\": %q,\n\"vectors\": [",
		"Filters of document roots, in hexadecimal: what they may hold and what they certainly do not, and bytes that are none.", "arborist-fuse16/1")
	for i, v := range vectors(t) {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString([]string{"\n", ",\n"}[min(i, 1)])
		b.Write(line)
	}
	b.WriteString("\n]\n}\n")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
