package peer

import (
	"fmt"
	"slices"
)

// Follow notes whether the owner wants a corpus, named by its origin, brought up
// to date by itself, durable on return. A table only remembers it.
func (t *Table) Follow(origin string, on bool) error {
	if _, err := ParseCorpusID(origin); err != nil {
		return fmt.Errorf("%w: %w", ErrAddress, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i, is := slices.BinarySearch(t.follow, origin)
	switch {
	case is == on:
		return nil
	case !on:
		t.follow = slices.Delete(slices.Clone(t.follow), i, i+1)
	case len(t.follow) >= maxListed:
		return fmt.Errorf("%w: %d corpora are followed by themselves", ErrListFull, maxListed)
	default:
		t.follow = slices.Insert(slices.Clone(t.follow), i, origin)
	}
	return t.save()
}

// Follows reports whether the owner wants a corpus brought up to date by itself.
func (t *Table) Follows(origin string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, is := slices.BinarySearch(t.follow, origin)
	return is
}

// Following lists the corpora that the owner wants brought up to date by
// themselves.
func (t *Table) Following() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.follow)
}
