package daemon

import (
	"fmt"
	"path/filepath"
	"testing"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/document/filter"
	"arborist/proof"
)

// filterOf returns the filter that a node serves of its corpus.
func filterOf(t *testing.T, n *Node) (proof.FilterHead, *filter.Filter) {
	t.Helper()
	info, err := n.lookupCorpus(t.Context(), MainCorpus)
	if err != nil {
		t.Fatal(err)
	}
	store := n.shared.Corpora()
	head, _, err := store.Filter(t.Context(), info.Origin)
	if err != nil {
		t.Fatal(err)
	}
	if head.Head.Size != info.Size {
		t.Errorf("the filter is of %d records, the log has %d", head.Head.Size, info.Size)
	}
	raw, err := store.FilterBytes(t.Context(), info.Origin, head.Sum)
	if err != nil {
		t.Fatal(err)
	}
	f, err := filter.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return head, f
}

func TestAFilterIsThatOfTheHeadAndOfSharedDocumentsAlone(t *testing.T) {
	n := openNode(t, newHome(t))
	dir := t.TempDir()
	texts := []string{"The granite quarry.", "What the river does.", "A mill by the river."}
	holds := func(f *filter.Filter, want ...bool) {
		t.Helper()
		for i, w := range want {
			if got := f.MayHold(rootOf(t, texts[i])); got != w {
				t.Errorf("%q: may hold = %v, want %v", texts[i], got, w)
			}
		}
	}
	share := func(i int) {
		t.Helper()
		path := filepath.Join(dir, "page.md")
		writeFile(t, path, texts[i])
		add(t, n, api.AddRequest{Paths: []string{path}})
	}
	share(0)
	_, f := filterOf(t, n)
	holds(f, true, false, false)
	share(1) // in place of the first
	_, f = filterOf(t, n)
	holds(f, true, true, false)

	var private []document.Root
	secret := t.TempDir()
	for i := range privatePages {
		writeFile(t, filepath.Join(secret, fmt.Sprintf("s%d.md", i)), privateText(i))
		private = append(private, rootOf(t, privateText(i)))
	}
	add(t, n, api.AddRequest{Paths: []string{secret}, Private: true})
	before, _ := filterOf(t, n)
	// Another key makes it anew, with all that there is now.
	if _, err := n.RotateCorpus(t.Context(), MainCorpus); err != nil {
		t.Fatal(err)
	}
	after, f := filterOf(t, n)
	if after != before || f.Roots() != 2 {
		t.Errorf("the filter was made of %d roots beside private documents, and of 2 without", f.Roots())
	}
	for _, root := range private {
		if f.MayHold(root) {
			t.Errorf("it may hold %s, which is private", root)
		}
	}
	info, err := n.lookupCorpus(t.Context(), MainCorpus)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Withdraw(t.Context(), api.WithdrawRequest{Corpus: info.Origin, What: []string{rootOf(t, texts[1]).String()}}); err != nil {
		t.Fatal(err)
	}
	_, f = filterOf(t, n)
	holds(f, true, true, false)
}
