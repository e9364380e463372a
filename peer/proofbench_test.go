package peer

import (
	"fmt"
	"net/http/httptest"
	"testing"
)

// BenchmarkProof serves the proof of a document's first chunk, without a network.
func BenchmarkProof(b *testing.B) {
	n, docs := newNode(b).up(nil), entriesOf(b, "doc:/x", 1000, 5<<10)
	n.publish("main", docs...)
	h, err := Handler(n.shared, ServeConfig{Rate: 1e9, Burst: 1e9})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		path := PathPrefix + fmt.Sprintf("%s/proof/%s/0", n.origin("main"), docs[i%len(docs)].Document.Root())
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), "GET", path, nil))
		if w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}
