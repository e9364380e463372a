package daemon

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"arborist/document"
	"arborist/proof"
	"arborist/shard/corpus"
)

// BenchmarkKeptHead measures what keeping the signed head adds to an append of
// one record: both in turn, on the same disk.
func BenchmarkKeptHead(b *testing.B) {
	home := Home(b.TempDir())
	if err := home.makeFolders(); err != nil {
		b.Fatal(err)
	}
	signer, err := proof.NewSigner("publisher/main", [32]byte{1})
	if err != nil {
		b.Fatal(err)
	}
	d, err := document.New([]byte("granite"))
	if err != nil {
		b.Fatal(err)
	}
	var stores [2]*corpus.Store
	for i := range stores {
		if stores[i], err = corpus.Open(filepath.Join(b.TempDir(), "corpora.db")); err != nil {
			b.Fatal(err)
		}
		defer stores[i].Close()
		if _, err := stores[i].Create(b.Context(), "main", signer.Verifier()); err != nil {
			b.Fatal(err)
		}
	}
	stores[1].KeepHeads(headFiles{home: home, peerID: "publisher"})
	var took [2]time.Duration
	for n := 0; b.Loop(); n++ {
		r := proof.NewRecord(d.Header(), document.Location{URI: fmt.Sprint("doc:/", n), FetchedAt: time.Unix(0, 0)}, document.ID{})
		for i, s := range stores {
			start := time.Now()
			if _, err := s.Append(b.Context(), signer.Name(), signer, []proof.Record{r}); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(start)
		}
	}
	b.ReportMetric(float64(took[0].Microseconds())/float64(b.N), "µs/append")
	b.ReportMetric(float64(took[1].Microseconds())/float64(b.N), "µs/append-kept")
}
