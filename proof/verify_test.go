package proof

import (
	"reflect"
	"testing"
)

func TestProofSurvivesBothFormsAndVerifies(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	for _, n := range []int{1, 2, 3, 5, 17} {
		d := newTestDocument(numbered(n))
		for i := range n {
			for _, p := range []*Proof{d.proof(t, i), d.logged(t, s, i, 6, 11), d.logged(t, s, i, 0, 1)} {
				e := Expect{}
				if p.Log != nil {
					e.Key = s.Verifier()
				}
				for _, marshal := range []func(*Proof) ([]byte, error){(*Proof).MarshalText, (*Proof).MarshalJSON} {
					file, err := marshal(p)
					if err != nil {
						t.Fatal(err)
					}
					q, err := Parse(file)
					if err != nil {
						t.Fatalf("%v\n%s", err, file)
					}
					if !reflect.DeepEqual(p, q) && len(p.Chunk.Path) > 0 && (p.Log == nil || len(p.Log.Entry.Path) > 0) {
						t.Fatalf("parsed %+v, want %+v", q, p)
					}
					c, err := Verify(q, e)
					if err != nil {
						t.Fatal(err)
					}
					if c.Chunk != uint64(i) || c.Chunks != uint64(n) || c.SignatureChecked != (p.Log != nil) {
						t.Errorf("claim %+v", c)
					}
				}
			}
		}
	}
}
