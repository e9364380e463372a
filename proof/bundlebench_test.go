package proof

import (
	"fmt"
	"testing"
)

// tenHits gives the proofs of a query's ten hits: four documents of 1,000
// chunks in a log of 10⁶ records, with four, three, two and one hit.
func tenHits(tb testing.TB) (proofs []*Proof, key *Verifier) {
	s := testSigner(tb, testPeer+"/main")
	var documents []*testDocument
	records := map[int]Record{}
	places := []int{543_210, 12, 999_999, 700_000}
	for i, place := range places {
		d := newTestDocument(labelled(fmt.Sprint("document ", i), 1000))
		documents = append(documents, d)
		records[place] = d.record(fmt.Sprintf("https://docs.python.org/3/library/%d.html", i))
	}
	log := newAnswerLog(tb, s, 1_000_000, records)
	for i, chunks := range [][]int{{700, 3, 701, 420}, {5, 999, 0}, {30, 31}, {512}} {
		part := log.part(tb, places[i])
		for _, chunk := range chunks {
			p := documents[i].proof(tb, chunk)
			p.Log = part
			proofs = append(proofs, p)
		}
	}
	return proofs, s.Verifier()
}

// BenchmarkTenHits compares the bundle of ten hits with their ten single
// proofs: bytes of the files without the passages, and the time to parse and
// verify all, with the signature once each time.
func BenchmarkTenHits(b *testing.B) {
	proofs, key := tenHits(b)
	bundle, _ := mustForms(b, mustBundle(b, proofs))
	var files [][]byte
	single, passages := 0, 0
	for _, p := range proofs {
		file, err := p.MarshalText()
		if err != nil {
			b.Fatal(err)
		}
		files, single, passages = append(files, file), single+len(file), passages+len(p.Text)
	}
	b.Run("bundle", func(b *testing.B) {
		for b.Loop() {
			p, err := ParseBundle(bundle)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := VerifyBundle(p, ExpectBundle{Keys: []*Verifier{key}}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(bundle)-passages), "bytes")
	})
	b.Run("single", func(b *testing.B) {
		for b.Loop() {
			var k Checker
			for _, file := range files {
				p, err := Parse(file)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := k.Verify(p, Expect{Key: key}); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(single-passages), "bytes")
	})
}
