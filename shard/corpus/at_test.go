package corpus

import (
	"context"
	"errors"
	"slices"
	"testing"

	"arborist/document"
)

// checkPast compares the store with the model at one size below or at its head.
func (m *model) checkPast(t tester, s *Store, n uint64) {
	t.Helper()
	var want []Entry
	roots := make(map[document.Root]bool)
	for _, i := range m.current(n) {
		want = append(want, Entry{uint64(i), m.recs[i]})
		roots[m.recs[i].Header.Root] = true
	}
	slices.SortFunc(want, func(a, b Entry) int { return int(a.Index) - int(b.Index) })
	p, err := s.At(context.Background(), m.origin(), n, MaxRecords, 0)
	if err != nil {
		t.Fatalf("at %d: %v", n, err)
	}
	if p.Size != n || p.Root != m.root(n) || p.Documents != uint64(len(roots)) || p.Listings != uint64(len(want)) || !slices.Equal(p.Page, want) {
		t.Fatalf("at %d: %d documents, %d listings, root %x: %v\nwant %d, %d, %x: %v", n, p.Documents, p.Listings, p.Root, p.Page, len(roots), len(want), m.root(n), want)
	}
}

func TestPastListsWhatWasListedThen(t *testing.T) {
	s, m := newOwn(t)
	appendBoth(t, s, m, listed("a", "1"), listed("b", "2"), listed("c", "2"))
	appendBoth(t, s, m, listed("a", "3"), withdrawal("b"))
	appendBoth(t, s, m, listed("b", "1"), listed("d", "4"))
	appendBoth(t, s, m, withdrawal("a"), withdrawal("c"))
	for n := range m.size() + 1 {
		m.checkPast(t, s, n)
	}
	for _, size := range []uint64{m.size() + 1, 1 << 63, 1<<64 - 1} {
		if _, err := s.At(t.Context(), m.origin(), size, 1, 0); !errors.Is(err, ErrNotFound) {
			t.Errorf("at %d of %d: %v", size, m.size(), err)
		}
	}
}

func TestPastIsPagedByIndex(t *testing.T) {
	s, m := newOwn(t)
	appendBoth(t, s, m, numbered(10, 0)...)
	appendBoth(t, s, m, listed("https://example.org/4", "changed"))
	for _, row := range []struct {
		limit, offset int
		want          []uint64
	}{
		{3, 0, []uint64{0, 1, 2}}, {3, 3, []uint64{3, 5, 6}}, {9, 8, []uint64{9, 10}},
		{1, 10, nil}, {0, 0, nil}, {-1, -1, nil},
	} {
		p, err := s.At(t.Context(), m.origin(), 11, row.limit, row.offset)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, e := range p.Page {
			got = append(got, e.Index)
		}
		if !slices.Equal(got, row.want) || p.Listings != 10 {
			t.Errorf("%d behind %d: %v of %d, want %v of 10", row.limit, row.offset, got, p.Listings, row.want)
		}
	}
}
