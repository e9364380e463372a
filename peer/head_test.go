package peer

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"testing"

	"arborist/proof"
)

// twin returns a node with the same keys and an empty store: a publisher that
// tells somebody else another story.
func (n *node) twin() *node {
	n.t.Helper()
	m := newNode(n.t)
	key, err := os.ReadFile(n.keyFile())
	if err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(m.keyFile(), key, 0o600); err != nil {
		n.t.Fatal(err)
	}
	m.id = n.id
	for name, s := range n.signers {
		if _, err := m.shared.Corpora().Create(n.t.Context(), name, s.Verifier()); err != nil {
			n.t.Fatal(err)
		}
		m.signers[name] = s
	}
	return m
}

func honestly(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
	honest.ServeHTTP(w, r)
}

// wantRefused syncs and checks that the source is blamed with this reason, and
// that the log stays where it is.
func wantRefused(t *testing.T, b *node, evil *relay, origin string, want error) {
	t.Helper()
	size, docs := b.size(origin), b.documents()
	_, err := b.peer.Sync(t.Context(), evil.addr, origin, nil)
	if !errors.Is(err, want) {
		t.Errorf("sync = %v, want %v", err, want)
	}
	if b.size(origin) != size || b.documents() != docs {
		t.Errorf("the refused sync changed the store: size %d to %d, documents %d to %d", size, b.size(origin), docs, b.documents())
	}
}

func TestAHeadNeverGoesBack(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 90, 200)...)
	origin := a.origin("main")
	old := hold(getRequest(resource{kind: kindCheckpoint, corpus: mustCorpus(t, origin)}), a.peer.Handler())
	a.publish("main", entriesOf(t, "doc:/y", 10, 200)...)
	b.sync(a.addr(), origin)
	stale := newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if ofKind(kindCheckpoint)(path) {
			old.send(w)
			return
		}
		honest.ServeHTTP(w, r)
	})
	wantRefused(t, b, stale, origin, ErrRollback)
	// A restart forgets nothing.
	b.close()
	b.openStore()
	b.up(nil)
	wantRefused(t, b, stale, origin, ErrRollback)
	wantEvidence(t, b, a, false)
	// The refusal is of that source; the honest one is served from as before.
	b.sync(a.addr(), origin)
}

func TestAHeadThatWasSeenBindsBeforeItsDocumentsCame(t *testing.T) {
	for _, stored := range []bool{false, true} {
		a, b := newNode(t).up(listenTCP), newNode(t).up(nil)
		a.publish("main", entriesOf(t, "doc:/x", 20, 200)...)
		origin := a.origin("main")
		if stored {
			b.sync(a.addr(), origin)
		}
		old := hold(getRequest(resource{kind: kindCheckpoint, corpus: mustCorpus(t, origin)}), a.peer.Handler())
		a.publish("main", entriesOf(t, "doc:/y", 5, 200)...)
		change, _ := cutAfter(0)
		if _, err := b.peer.Sync(t.Context(), newRelay(t, a, change).addr, origin, nil); err == nil {
			t.Fatal("a sync without documents succeeded")
		}
		wantRefused(t, b, newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
			if ofKind(kindCheckpoint)(path) {
				old.send(w)
				return
			}
			honest.ServeHTTP(w, r)
		}), origin, ErrRollback)
		b.sync(a.addr(), origin)
		sameCorpus(t, a, b, "main")
	}
}

func TestTwoStoriesFreezeACorpus(t *testing.T) {
	for _, c := range []struct {
		name  string
		other int // documents of the other story
	}{{"of the same length", 20}, {"that is longer", 300}, {"that is shorter", 7}} {
		t.Run(c.name, func(t *testing.T) {
			a, b := newNode(t).up(nil), newNode(t).up(nil)
			a.publish("main", entriesOf(t, "doc:/x", 20, 200)...)
			origin := a.origin("main")
			truth := newRelay(t, a, honestly)
			b.sync(truth.addr, origin)
			liar := a.twin()
			liar.publish("main", entriesOf(t, "doc:/z", c.other, 200)...)
			wantRefused(t, b, newRelay(t, liar, honestly), origin, ErrEquivocation)
			wantEvidence(t, b, a, true)
			// Nobody can move a frozen corpus, also after a restart.
			a.publish("main", entriesOf(t, "doc:/more", 3, 200)...)
			wantRefused(t, b, truth, origin, ErrFrozen)
			b.close()
			b.openStore()
			b.up(nil)
			wantRefused(t, b, truth, origin, ErrFrozen)
		})
	}
}

// wantEvidence checks that the follower keeps two notes that the publisher
// signed, and for an equivocation that they prove it.
func wantEvidence(t *testing.T, b, a *node, equivocation bool) {
	t.Helper()
	kept, err := b.shared.Corpora().Evidence(t.Context(), a.origin("main"))
	if err != nil || len(kept) != 1 || (kept[0].Kind == proof.Equivocation) != equivocation {
		t.Fatalf("evidence = %+v, %v, want one, equivocation %v", kept, err, equivocation)
	}
	key := a.signer("main").Verifier()
	for _, note := range [][]byte{kept[0].Older, kept[0].Newer} {
		if _, err := proof.OpenCheckpoint(note, key); err != nil {
			t.Errorf("a note of the evidence: %v", err)
		}
	}
	if equivocation {
		if _, err := kept[0].Verify(key); err != nil {
			t.Errorf("the evidence proves nothing: %v", err)
		}
	}
}

func TestALiarCannotFreezeACorpus(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 300, 200)...)
	origin := a.origin("main")
	b.sync(a.addr(), origin)
	a.publish("main", entriesOf(t, "doc:/y", 300, 200)...)
	for name, alter := range map[string]func([]byte) []byte{"flipped": flipAt(middle), "empty": func([]byte) []byte { return nil }} {
		change, _ := changing(ofKind(kindTile), alter)
		_, err := b.peer.Sync(t.Context(), newRelay(t, a, change).addr, origin, nil)
		if errors.Is(err, ErrEquivocation) || err == nil {
			t.Errorf("tiles %s: %v", name, err)
		}
	}
	// Another root at a size that is known, under a signature of something else.
	change, _ := changing(ofKind(kindCheckpoint), func(note []byte) []byte {
		lines := bytes.SplitAfterN(note, []byte("\n"), 4)
		lines[1], lines[2] = []byte("300\n"), []byte(base64.StdEncoding.EncodeToString(make([]byte, 32))+"\n")
		return bytes.Join(lines, nil)
	})
	if _, err := b.peer.Sync(t.Context(), newRelay(t, a, change).addr, origin, nil); !errors.Is(err, ErrTampered) {
		t.Errorf("a root that nobody signed: %v, want ErrTampered", err)
	}
	b.sync(a.addr(), origin)
	sameCorpus(t, a, b, "main")
}

func TestKeysThatThePublisherDidNotCertifyAreRefused(t *testing.T) {
	a, mallory := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 5, 200)...)
	origin := a.origin("main")
	forged, err := proof.NewSigner(origin, [32]byte{66})
	if err != nil {
		t.Fatal(err)
	}
	mid, err := loadIdentity(mallory.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	aid, err := loadIdentity(a.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	mine, err := proof.NewSigner(mallory.origin("main"), [32]byte{67})
	if err != nil {
		t.Fatal(err)
	}
	statement := func(text []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	ofMallory := statement(mid.statement(mine.Verifier()))
	other, err := proof.NewSigner(a.origin("other"), [32]byte{68})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"another peer's statement":           ofMallory,
		"the publisher's for another corpus": statement(aid.statement(other.Verifier())),
		"signed by another peer":             signedBy(mid, mustCorpus(t, origin), forged.Verifier()),
	} {
		t.Run(name, func(t *testing.T) {
			b := newNode(t).up(nil)
			evil := newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
				if ofKind(kindKey)(path) {
					w.Write(text)
					return
				}
				honest.ServeHTTP(w, r)
			})
			_, err := b.peer.Sync(t.Context(), evil.addr, origin, nil)
			checkBlame(t, err, evil.host.ID().String(), "key", []error{ErrKey})
			if infos, _ := b.shared.Corpora().List(t.Context()); len(infos) != 0 {
				t.Errorf("the corpus was followed: %+v", infos)
			}
		})
	}
	if _, err := mid.statement(forged.Verifier()); err == nil {
		t.Error("a node certified another publisher's corpus")
	}
}

// signedBy makes a statement that is right but for who signed it.
func signedBy(id identity, c CorpusID, v *proof.Verifier) []byte {
	wrong := CorpusID{publisher: id.id, name: c.name}
	signer, err := proof.NewSigner(wrong.String(), [32]byte{1})
	if err != nil {
		panic(err)
	}
	good, err := id.statement(signer.Verifier())
	if err != nil {
		panic(err)
	}
	signature := good[len(statementBody(wrong, signer.Verifier().String())):]
	return append(statementBody(c, v.String()), signature...)
}

func TestThePinnedKeyStays(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 5, 200)...)
	origin := a.origin("main")
	b.sync(newRelay(t, a, honestly).addr, origin)
	// The publisher itself certifies and uses another key.
	c := newNode(t)
	key, err := os.ReadFile(a.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.keyFile(), key, 0o600); err != nil {
		t.Fatal(err)
	}
	c.id = a.id
	rekeyed, err := proof.NewSigner(origin, [32]byte{99})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.shared.Corpora().Create(t.Context(), "main", rekeyed.Verifier()); err != nil {
		t.Fatal(err)
	}
	c.signers["main"] = rekeyed
	c.publish("main", entriesOf(t, "doc:/x", 6, 200)...)
	wantRefused(t, b, newRelay(t, c, honestly), origin, ErrKey)
	if info, err := b.shared.Corpora().Lookup(t.Context(), origin); err != nil || info.Key != a.signer("main").Verifier().String() {
		t.Errorf("pinned key = %q, %v", info.Key, err)
	}
}
