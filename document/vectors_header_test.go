package document

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"arborist/merkle"
)

// A cidVector is a text form: valid with the hash that it stands for, or
// refused.
type cidVector struct {
	Name  string    `json:"name"`
	Text  string    `json:"text"`
	Block *hexBytes `json:"block,omitempty"` // what was hashed, where valid
	Hash  hexBytes  `json:"hash,omitempty"`
	Valid bool      `json:"valid"`
}

func TestCIDVectors(t *testing.T) {
	var table []cidVector
	valid := func(name string, block []byte, h merkle.Hash) {
		table = append(table, cidVector{name, Root(h).String(), (*hexBytes)(&block), h[:], true})
	}
	valid("leaf without data", []byte{0}, merkle.LeafHash(nil))
	valid("leaf", []byte("\x00chunk"), merkle.LeafHash([]byte("chunk")))
	left, right := merkle.LeafHash([]byte("left")), merkle.LeafHash([]byte("right"))
	valid("inner node", slices.Concat([]byte{1}, left[:], right[:]), merkle.NodeHash(left, right))
	valid("document ID", testHeader().Text(), merkle.Hash(testHeader().ID()))
	for _, bad := range []map[string]string{refusedCIDs(t), malformedCIDs(t)} {
		for _, name := range slices.Sorted(maps.Keys(bad)) {
			table = append(table, cidVector{Name: name, Text: bad[name]})
		}
	}
	about := "Text forms of roots, leaves and document IDs. A valid one is the CID of the block, in hexadecimal."
	for _, v := range vectors(t, "cid.json", about, "cidv1-raw-sha2-256-base32", table) {
		root, err := ParseRoot(v.Text)
		if (err == nil) != v.Valid {
			t.Errorf("%s: ParseRoot(%q) = %v, want valid %v", v.Name, v.Text, err, v.Valid)
		}
		if id, err := ParseID(v.Text); (err == nil) != v.Valid || v.Valid && !bytes.Equal(id[:], v.Hash) {
			t.Errorf("%s: ParseID(%q) = %s, %v", v.Name, v.Text, id, err)
		}
		if v.Valid && !bytes.Equal(root[:], v.Hash) {
			t.Errorf("%s: hash %x, want %x", v.Name, root[:], v.Hash)
		}
	}
}

// A headerVector is a header's text: valid with the ID and what it says, or
// refused.
type headerVector struct {
	Name   string `json:"name"`
	Text   string `json:"text"`
	Valid  bool   `json:"valid"`
	ID     string `json:"id,omitempty"`
	Root   string `json:"root,omitempty"`
	Chunks uint64 `json:"chunks,omitempty"`
	Bytes  uint64 `json:"bytes,omitempty"`
}

func TestHeaderVectors(t *testing.T) {
	var table []headerVector
	valid := func(name string, h Header) {
		table = append(table, headerVector{name, string(h.Text()), true, h.ID().String(), h.Root.String(), h.Chunks, h.Bytes})
	}
	valid("one chunk", testHeader())
	large := testHeader()
	large.Chunks, large.Bytes = 65000, MaxBytes
	valid("the most bytes", large)
	foreign := testHeader()
	foreign.Norm, foreign.Chunker = "norm-v3", strings.Repeat("x", 32)
	valid("formats that a reader may not know", foreign)
	bad := badHeaders()
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		table = append(table, headerVector{Name: name, Text: bad[name]})
	}
	about := "Texts of document headers. The ID is the CID of the text."
	for _, v := range vectors(t, "header.json", about, headerVersion, table) {
		h, err := ParseHeader([]byte(v.Text))
		if (err == nil) != v.Valid {
			t.Errorf("%s: ParseHeader = %v, want valid %v", v.Name, err, v.Valid)
		}
		if v.Valid && (h.ID().String() != v.ID || h.Root.String() != v.Root || h.Chunks != v.Chunks || h.Bytes != v.Bytes) {
			t.Errorf("%s: %+v with ID %s", v.Name, h, h.ID())
		}
	}
}

// A documentVector goes the whole way from raw text to the document ID.
type documentVector struct {
	Name   string     `json:"name"`
	Text   []textPart `json:"text"`
	Chunks uint64     `json:"chunks"`
	Bytes  uint64     `json:"bytes"`
	Root   string     `json:"root"`
	ID     string     `json:"id"`
}

func TestDocumentVectors(t *testing.T) {
	table := []documentVector{
		{Name: "one letter", Text: []textPart{{1, "a"}}},
		{Name: "the same letter, spelled otherwise", Text: []textPart{{1, "\uFEFF a\r\n"}}},
		{Name: "canonical composition", Text: []textPart{{1, "# Cafe\u0301\r\n\r\n\r\nOne  two.\n"}}},
		{Name: "two chunks", Text: []textPart{{1537, "x"}}},
	}
	for _, v := range chunkerTable() {
		if strings.Contains(v.Name, "headings before") || strings.Contains(v.Name, "East Asian") {
			table = append(table, documentVector{Name: v.Name + ", CRLF", Text: []textPart{{1, strings.ReplaceAll(string(v.text()), "\n", "\r\n")}}})
		}
	}
	for i, v := range table {
		d, err := New(chunkerVector{Text: v.Text}.text())
		if err != nil {
			t.Fatal(err)
		}
		h := d.Header()
		table[i].Chunks, table[i].Bytes, table[i].Root, table[i].ID = h.Chunks, h.Bytes, h.Root.String(), h.ID().String()
	}
	about := "Documents from raw text to root and ID. The text is each part, repeated and joined."
	for _, v := range vectors(t, "header-document.json", about, headerVersion, table) {
		d, err := New(chunkerVector{Text: v.Text}.text())
		if err != nil {
			t.Fatal(err)
		}
		if h := d.Header(); h.Chunks != v.Chunks || h.Bytes != v.Bytes || h.Root.String() != v.Root || h.ID().String() != v.ID {
			t.Errorf("%s: %+v with ID %s", v.Name, h, h.ID())
		}
	}
}
