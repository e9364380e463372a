package document

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// update rewrites docs/vectors from the code. The vectors are part of the
// formats: a change in them needs new format names.
var update = flag.Bool("update", false, "rewrite docs/vectors from the code")

// A vectorFile is one file of docs/vectors.
type vectorFile[T any] struct {
	About   string `json:"about"`
	Format  string `json:"format"`
	Vectors []T    `json:"vectors"`
}

// vectors reads the vectors of a file, which must be for this format and have
// nothing that T has no field for. With -update it writes the table there first.
func vectors[T any](t *testing.T, name, about, format string, table []T) []T {
	t.Helper()
	path := filepath.Join("..", "docs", "vectors", name)
	if *update {
		if err := os.WriteFile(path, encodeVectors(t, about, format, table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var file vectorFile[T]
	if err := dec.Decode(&file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if file.Format != format || len(file.Vectors) != len(table) {
		t.Fatalf("%s has %d vectors for %s, want %d for %s", path, len(file.Vectors), file.Format, len(table), format)
	}
	return file.Vectors
}

// encodeVectors writes one vector a line, so that a change is easy to see.
func encodeVectors[T any](t *testing.T, about, format string, table []T) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	encode := func(v any) {
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		b.Truncate(b.Len() - 1) // the newline
	}
	b.WriteString("{\n\"about\": ")
	encode(about)
	b.WriteString(",\n\"format\": ")
	encode(format)
	b.WriteString(",\n\"vectors\": [")
	for i, v := range table {
		b.WriteString([]string{"\n", ",\n"}[min(i, 1)])
		encode(v)
	}
	b.WriteString("\n]\n}\n")
	return b.Bytes()
}
