package shard

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arborist/document"
)

// A search that cannot get on, here because all connections of a file are
// taken, ends with an error that says how long it took and what to do.
func TestASearchThatTakesTooLongIsRefusedAndSaysSo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shards")
	if err := CreateShared(dir, 1); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := openTestShared(t, dir)
		if _, err := s.Put(t.Context(), []document.Entry{entry(t, "file:a", "an old owl")}); err != nil {
			t.Fatal(err)
		}
		var ends []func()
		for range maxReaders {
			_, end, err := s.files[0].snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, end)
		}
		began := time.Now()
		_, err := s.Search(t.Context(), Query{Text: "owl"})
		var refused *QueryError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), MaxSearchTime.String()) || refused.Next == "" {
			t.Errorf("a search without an end: %v", err)
		}
		if took := time.Since(began); took != MaxSearchTime {
			t.Errorf("it took %v, not %v", took, MaxSearchTime)
		}
		for _, end := range ends {
			end()
		}
		if r, err := s.Search(t.Context(), Query{Text: "owl"}); err != nil || r.Total != 1 {
			t.Errorf("after it: %d hits, %v", r.Total, err)
		}
	})
}
