package peer

import (
	"errors"
	"testing"

	"arborist/document"
)

// Documents hands on what hashes to its header and nothing else, whoever sends it.
func TestDocumentsHandsOnWhatIsVerifiedAlone(t *testing.T) {
	a := newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 6, 200)...)
	records, err := a.shared.Corpora().Records(t.Context(), a.origin("main"), 0, 6)
	if err != nil {
		t.Fatal(err)
	}
	var wanted []document.Header
	for _, r := range records {
		wanted = append(wanted, r.Header)
	}
	nowhere, err := document.New([]byte("listed by nobody"))
	if err != nil {
		t.Fatal(err)
	}
	b := newNode(t).up(nil)
	ask := func(from, origin string) (roots []document.Root, err error) {
		err = b.peer.Documents(t.Context(), from, origin, append([]document.Header{nowhere.Header()}, wanted...), func(d *document.Document) error {
			roots = append(roots, d.Root())
			return nil
		})
		return roots, err
	}
	if roots, err := ask(a.addr(), a.origin("main")); err != nil || len(roots) != len(wanted) {
		t.Fatalf("%d documents, %v", len(roots), err)
	}
	if _, err := ask(a.addr(), a.origin("other")); !errors.Is(err, ErrNoCorpus) {
		t.Errorf("a corpus that is not served: %v", err)
	}
	for _, alt := range append(common(), alteration{"a text of 4 GiB", elementWith(-1, 1<<32-1), []error{ErrTampered}}) {
		t.Run(alt.name, func(t *testing.T) {
			change, hits := changing(ofKind(kindDoc), alt.alter)
			evil := newRelay(t, a, change)
			roots, err := ask(evil.addr, a.origin("main"))
			if len(roots) > 0 || hits.Load() == 0 {
				t.Fatalf("%d documents, %d altered, %v", len(roots), hits.Load(), err)
			}
			if alt.name != "zeros" { // which say that it has none
				checkBlame(t, err, evil.host.ID().String(), string(kindDoc), alt.want)
			}
		})
	}
	stop := errors.New("enough")
	calls := 0
	err = b.peer.Documents(t.Context(), a.addr(), a.origin("main"), wanted, func(*document.Document) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}
