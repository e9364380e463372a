package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/daemon/api"
	"arborist/proof"
	"arborist/shard"
)

// One record that a disk has changed costs its hit, which is named, and neither
// the others nor their proofs.
func TestADamagedRecordCostsItsHitAlone(t *testing.T) {
	home := newHome(t)
	addPages(t, home, "first", 5)
	path := filepath.Join(home.Shards(), shard.CorporaName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.ReplaceAll(b, []byte("first/p3.md"), []byte("first/pX.md"))
	if bytes.Equal(changed, b) {
		t.Fatal("the record is not where it is looked for")
	}
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	n := openNode(t, home)
	for _, corpus := range []string{"", MainCorpus} {
		res, err := n.Query(t.Context(), api.QueryRequest{Text: "granite", Corpus: corpus, Bundle: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Hits) != 4 || len(res.Refused) != 1 || !strings.HasSuffix(res.Refused[0].URI, "first/p3.md") || res.Refused[0].Error == "" {
			t.Fatalf("%d hits, refused %+v", len(res.Hits), res.Refused)
		}
		b, err := proof.ParseBundle([]byte(res.Bundle))
		if err != nil {
			t.Fatal(err)
		}
		proofs, err := b.Proofs()
		if err != nil || len(proofs) != 4 {
			t.Fatalf("%d proofs, %v", len(proofs), err)
		}
		for i, p := range proofs {
			if string(p.Text) != res.Hits[i].Text || p.Log == nil {
				t.Errorf("hit %d has another proof, or one that names no corpus", i)
			}
		}
	}
}
