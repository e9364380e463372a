package ingest

import (
	"fmt"
	"testing"
)

// BenchmarkRun measures everything between a source and a store that costs
// nothing: text of 10 KiB, normalised, cut and hashed.
func BenchmarkRun(b *testing.B) {
	var l list
	total := 0
	for i := range 500 {
		r := raw(fmt.Sprintf("test:%d", i), "")
		r.Body = prose(i, 10<<10)
		total += len(r.Body)
		l.raws = append(l.raws, r)
	}
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Run(b.Context(), l, discard{}, Config{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
