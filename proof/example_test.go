package proof_test

import (
	"errors"
	"fmt"
	"time"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

// A publisher lists a document in a corpus and proves a passage of it; a reader
// who has the corpus's key checks the file.
func Example() {
	d, err := document.New([]byte("# Trees\n\nA tree has leaves."))
	if err != nil {
		panic(err)
	}
	signer, err := proof.NewSigner("PEER/main", [32]byte{1}) // a random seed in earnest
	if err != nil {
		panic(err)
	}
	record := proof.NewRecord(d.Header(), document.Location{
		URI: "https://example.org/trees", Title: "Trees", Source: "crawl", FetchedAt: time.Unix(1_700_000_000, 0),
	}, document.ID{})
	line, err := record.Line()
	if err != nil {
		panic(err)
	}
	note, err := proof.SignCheckpoint(proof.Checkpoint{Origin: "PEER/main", Size: 1, Root: merkle.LeafHash(line)}, signer)
	if err != nil {
		panic(err)
	}
	p := &proof.Proof{Header: d.Header(), Text: d.Chunk(0), Log: &proof.LogPart{Record: record, Note: note}}
	file, err := p.MarshalText()
	if err != nil {
		panic(err)
	}

	got, err := proof.Parse(file)
	if err != nil {
		panic(err)
	}
	claim, err := proof.Verify(got, proof.Expect{Key: signer.Verifier()})
	if err != nil {
		panic(err)
	}
	fmt.Println(claim.Chunk, "of", claim.Chunks, "in", claim.Corpus, "of", claim.Publisher, "at size", claim.LogSize)

	got.Text[0] = 'X'
	_, err = proof.Verify(got, proof.Expect{Key: signer.Verifier()})
	fmt.Println(errors.Is(err, proof.ErrTampered))
	// Output:
	// 0 of 1 in main of PEER at size 1
	// true
}
