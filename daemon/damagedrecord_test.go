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

// So does one whose row in its shard a disk has changed, and a corpus whose key or
// head it has: the error names the file, and private documents are shown.
func TestAProofThatDoesNotHoldCostsItsHitAlone(t *testing.T) {
	for name, c := range map[string]struct {
		file, statement string
		shared          int // hits that are left
	}{
		"a header": {"00.db", "UPDATE documents SET norm = 'n?rm' WHERE id = (SELECT min(id) FROM documents)", 4},
		"a head":   {shard.CorporaName, "UPDATE corpus SET note = CAST(replace(CAST(note AS TEXT), '\n5\n', '\n6\n') AS BLOB)", 0},
		"a key":    {shard.CorporaName, "UPDATE corpus SET key = substr(key, 1, length(key) - 3) || '???'", 0},
	} {
		t.Run(name, func(t *testing.T) {
			home := newHome(t)
			addPages(t, home, "first", 5)
			n := openNode(t, home)
			if _, err := n.Add(t.Context(), api.AddRequest{Paths: []string{writePage(t, "private granite")}, Private: true}, nil); err != nil {
				t.Fatal(err)
			}
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			editFile(t, filepath.Join(home.Shards(), c.file), c.statement)
			n = openNode(t, home)
			res, err := n.Query(t.Context(), api.QueryRequest{Text: "granite", Bundle: true})
			if err != nil {
				t.Fatal(err)
			}
			private := 0
			for i, h := range res.Hits {
				if h.Source == sourceCrawl {
					private++
				}
				if h.Rank != i+1 {
					t.Errorf("hit %d has rank %d", i, h.Rank)
				}
			}
			if len(res.Hits)-private != c.shared || private != 1 {
				t.Errorf("%d hits, %d of them private", len(res.Hits), private)
			}
			status, err := n.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(status.Problems, "; "); strings.Contains(said, "peer sync") {
				t.Errorf("status blames the age of the store: %s", said)
			}
			if len(res.Refused) == 0 || !strings.Contains(res.Refused[0].URI+res.Refused[0].Error, c.file) || !strings.Contains(res.Refused[0].Next, "arborist check") {
				t.Errorf("refused %+v", res.Refused)
			}
		})
	}
}
