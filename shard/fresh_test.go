package shard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"arborist/document"
)

func freshEntries(t *testing.T, from, n int) (entries []document.Entry) {
	t.Helper()
	for i := range n {
		d, err := document.New(fmt.Appendf(nil, "Document %d.\n\n%s", from+i, strings.Repeat(fmt.Sprintf("Its words are number%d and others.\n\n", (from+i)%7), 200)))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, document.Entry{Document: d, Location: document.Location{URI: fmt.Sprintf("test:%d", from+i), Source: "test"}})
	}
	return entries
}

// allRows is all of a table.
func allRows(t *testing.T, f *File, query string) string {
	t.Helper()
	rows, err := f.reader.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%x\n", data)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Whether a text is in memory still or read from its file, its words are the same.
func TestAnIndexFromMemoryIsThatFromTheFile(t *testing.T) {
	var indexes []string
	for _, reopened := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "a.db")
		f, err := OpenFile(path, KindPrivate, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Store(t.Context(), freshEntries(t, 0, 20)); err != nil {
			t.Fatal(err)
		}
		if n := len(f.fresh.documents); n != 20 {
			t.Fatalf("%d of 20 documents are in memory", n)
		}
		if reopened {
			f.Close()
			if f, err = OpenFile(path, KindPrivate, ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Index(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f.fresh.bytes != 0 || len(f.fresh.documents) != 0 {
			t.Errorf("%d bytes of %d documents are kept", f.fresh.bytes, len(f.fresh.documents))
		}
		indexes = append(indexes, allRows(t, f, "SELECT data FROM postings ORDER BY id"))
		if n, err := f.Check(t.Context(), func(p string) { t.Error(p) }); err != nil || n != 20 {
			t.Errorf("%d documents, %v", n, err)
		}
		f.Close()
	}
	if indexes[0] != indexes[1] || len(indexes[0]) == 0 {
		t.Error("the two differ")
	}
}

// What a transaction that failed would have stored is neither found nor kept.
func TestAFreshTextOfAFailedStoreIsNotIndexed(t *testing.T) {
	f, err := OpenFile(filepath.Join(t.TempDir(), "a.db"), KindPrivate, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	failed := errors.New("the disk is full")
	lost := freshEntries(t, 0, 1)
	err = f.Write(t.Context(), func(tx *sql.Tx) error {
		c := change{entry: arrivals(lost)[0], place: placeOf("", "test:0"), seq: 1, outcome: new(document.Outcome)}
		return errors.Join(f.apply(context.Background(), tx, []change{c}, nil, indexLater), failed)
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if n := len(f.fresh.documents); n != 1 {
		t.Fatalf("%d documents are in memory, want the one that was not stored", n)
	}
	if _, err := f.Store(t.Context(), freshEntries(t, 1, 1)); err != nil { // takes its ids
		t.Fatal(err)
	}
	if err := f.Index(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(f.fresh.documents); n != 0 {
		t.Errorf("%d documents are kept", n)
	}
	if n, err := f.Check(t.Context(), func(p string) { t.Error(p) }); err != nil || n != 1 {
		t.Errorf("%d documents, %v", n, err)
	}
}

func TestFreshTextsAreBounded(t *testing.T) {
	entries := freshEntries(t, 0, 3)
	size := len(entries[0].Document.Text())
	s := &freshSet{bytes: maxFresh - 2*size - size/2}
	for range 2 { // each counts once
		for _, e := range entries {
			s.keep(e.Document)
		}
	}
	for i, e := range entries {
		if d := s.take(e.Document.Root()); (d != nil) != (i < 2) || s.take(e.Document.Root()) != nil {
			t.Errorf("document %d: kept %v, and taken twice", i, d != nil)
		}
	}
	if s.bytes != maxFresh-2*size-size/2 {
		t.Errorf("%d bytes, want what there was before", s.bytes)
	}
}
