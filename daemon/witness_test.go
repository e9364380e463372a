package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/daemon/api"
	"arborist/proof"
	"arborist/proof/report"
)

// listening returns an open node that peers reach on loopback, and where.
func listening(t *testing.T, home Home) (*Node, string) {
	t.Helper()
	n := openNode(t, home)
	if err := n.listenForPeers(); err != nil {
		t.Fatal(err)
	}
	id, err := n.PeerID(t.Context())
	if err != nil || len(id.Addrs) == 0 {
		t.Fatalf("%+v, %v", id, err)
	}
	return n, id.Addrs[0]
}

// sync follows a corpus and returns it as corpus show has it then.
func syncFrom(t *testing.T, n *Node, addr, origin string) api.CorpusInfo {
	t.Helper()
	if _, err := n.Sync(t.Context(), api.SyncRequest{From: addr, Corpus: origin}, nil); err != nil {
		t.Fatal(err)
	}
	return shown(t, n, origin)
}

func shown(t *testing.T, n *Node, origin string) api.CorpusInfo {
	t.Helper()
	res, err := n.ListCorpora(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Corpora {
		if c.Origin == origin {
			return c
		}
	}
	t.Fatalf("no corpus %s in %+v", origin, res)
	return api.CorpusInfo{}
}

// checkWitnessed fails unless exactly this node has cosigned the head, a short
// while ago.
func checkWitnessed(t *testing.T, c api.CorpusInfo, by string) {
	t.Helper()
	if len(c.Witnesses) != 1 || c.Witnesses[0].Name != by {
		t.Fatalf("witnesses %+v, want %s", c.Witnesses, by)
	}
	at, err := time.Parse(time.RFC3339, c.Witnesses[0].Time)
	if err != nil || time.Since(at) > time.Hour || time.Until(at) > time.Minute {
		t.Errorf("cosigned at %s, %v", c.Witnesses[0].Time, err)
	}
}

// TestCosignaturesTravelFromAWitnessToAReader: three nodes on loopback. A
// follower witnesses the publisher's corpus; another follower, which knows the
// witness, syncs from it alone; its proofs show the publisher's signature and
// the witness's.
func TestCosignaturesTravelFromAWitnessToAReader(t *testing.T) {
	publisher, from := listening(t, newHome(t))
	docs := t.TempDir()
	text := "# Granite\n\nThe quarry and the river."
	writeFile(t, filepath.Join(docs, "a.md"), text)
	add(t, publisher, api.AddRequest{Paths: []string{docs}})
	origin := mainOrigin(t, publisher)

	witness, witnessAt := listening(t, newHome(t))
	vkey, err := witness.WitnessKey(t.Context())
	if err != nil || vkey.Name != witness.id {
		t.Fatalf("%+v, %v", vkey, err)
	}
	if c := syncFrom(t, witness, from, origin); c.Witness || len(c.Witnesses) != 0 {
		t.Fatalf("a follower that was not asked to is a witness: %+v", c)
	}
	c, err := witness.WitnessCorpus(t.Context(), api.WitnessRequest{Corpus: origin})
	if err != nil || !c.Witness {
		t.Fatalf("%+v, %v", c, err)
	}
	checkWitnessed(t, c, witness.id)
	writeFile(t, filepath.Join(docs, "b.md"), "# Slate\n\nThe roof.")
	add(t, publisher, api.AddRequest{Paths: []string{docs}})
	checkWitnessed(t, syncFrom(t, witness, from, origin), witness.id)

	home := newHome(t)
	writeFile(t, home.Config(), "format = 1\n[peer]\nwitnesses = [\""+vkey.Key+"\"]\n")
	reader := openNode(t, home)
	checkWitnessed(t, syncFrom(t, reader, witnessAt, origin), witness.id)
	// The publisher serves the same head without the cosignature: it stays.
	checkWitnessed(t, syncFrom(t, reader, from, origin), witness.id)

	root := rootOf(t, text)
	p, err := reader.Prove(t.Context(), api.ProveRequest{Root: root, Corpus: origin})
	if err != nil {
		t.Fatal(err)
	}
	key, err := reader.CorpusKey(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	o := report.Options{File: "-", Keys: []string{key.Key}, Witnesses: []string{vkey.Key}}
	for _, file := range []string{p.Text, string(p.JSON)} {
		claim, err := report.Check(o, strings.NewReader(file))
		if err != nil || len(claim.Cosignatures) != 1 || claim.Cosignatures[0].Name != witness.id || claim.LogSize != 2 {
			t.Errorf("%+v, %v", claim, err)
		}
	}
	// The publisher has nobody's cosignature yet, so its proof does not pass.
	p, err = publisher.Prove(t.Context(), api.ProveRequest{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := report.Check(o, strings.NewReader(p.Text)); !errors.Is(err, proof.ErrWitness) {
		t.Errorf("a proof without cosignature: %v", err)
	}
}

// TestAPublisherGathersCosignatures: two nodes on loopback. The publisher knows
// the witness's key and joins it; its next proof shows the cosignature, which
// the witness made after it had been asked before.
func TestAPublisherGathersCosignatures(t *testing.T) {
	ctx := t.Context()
	witness, witnessAt := listening(t, newHome(t))
	vkey, err := witness.WitnessKey(ctx)
	if err != nil {
		t.Fatal(err)
	}
	home := newHome(t)
	writeFile(t, home.Config(), "format = 1\n[peer]\nwitnesses = [\""+vkey.Key+"\"]\n")
	publisher, publisherAt := listening(t, home)
	publisher.startGuard() // as its daemon does
	docs, text := t.TempDir(), "# Granite\n\nThe quarry and the river."
	writeFile(t, filepath.Join(docs, "a.md"), text)
	add(t, publisher, api.AddRequest{Paths: []string{docs}})
	origin := mainOrigin(t, publisher)

	// Joined too early: the witness has nothing yet.
	if _, err := publisher.Join(ctx, witnessAt); err != nil {
		t.Fatal(err)
	}
	syncFrom(t, witness, publisherAt, origin)
	if _, err := witness.WitnessCorpus(ctx, api.WitnessRequest{Corpus: origin}); err != nil {
		t.Fatal(err)
	}
	if _, err := publisher.Join(ctx, witnessAt); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); len(shown(t, publisher, origin).Witnesses) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the publisher has not gathered the cosignature")
		}
	}
	checkWitnessed(t, shown(t, publisher, origin), witness.id)
	p, err := publisher.Prove(ctx, api.ProveRequest{Root: rootOf(t, text)})
	if err != nil {
		t.Fatal(err)
	}
	key, err := publisher.CorpusKey(ctx, origin)
	if err != nil {
		t.Fatal(err)
	}
	claim, err := report.Check(report.Options{File: "-", Keys: []string{key.Key}, Witnesses: []string{vkey.Key}}, strings.NewReader(p.Text))
	if err != nil || !strings.Contains(claim.Statement(), "cosigned by 1 of 1 witnesses") {
		t.Errorf("%s, %v", claim.Statement(), err)
	}
}

func TestAnOwnCorpusIsNotWitnessed(t *testing.T) {
	n := openNode(t, newHome(t))
	_, err := n.WitnessCorpus(t.Context(), api.WitnessRequest{Corpus: MainCorpus})
	if e := api.AsError(err); err == nil || e.Code != api.CodeDenied || !strings.Contains(e.Hint, "corpus witness "+n.id+"/main") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(n.home.WitnessKey()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a witness key was made for nothing: %v", err)
	}
	if _, err := n.WitnessCorpus(t.Context(), api.WitnessRequest{Corpus: "nowhere/main"}); api.AsError(err).Code != api.CodeNotFound {
		t.Errorf("%v", err)
	}
}

func TestTheWitnessKeyIsMadeOnceAndKept(t *testing.T) {
	home := newHome(t)
	n := openNode(t, home)
	first, err := n.WitnessKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(home.WitnessKey())
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if w, err := proof.ParseCosigner(first.Key); err != nil || w.Name() != n.id {
		t.Errorf("%s, %v", first.Key, err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, home)
	if again, err := n.WitnessKey(t.Context()); err != nil || again != first {
		t.Errorf("%+v after %+v, %v", again, first, err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := proof.NewCosignSigner("somebody", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"garbage": "x\n", "the key of another node": other.PrivateKey() + "\n"} {
		writeFile(t, home.WitnessKey(), content)
		if _, err := Open(t.Context(), Options{Home: home}); api.AsError(err).Code != api.CodeInvalid || strings.Contains(err.Error(), other.PrivateKey()[30:]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfiguredWitnessesAreChecked(t *testing.T) {
	home := newHome(t)
	signer, err := proof.NewSigner("peer/main", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{
		"not a key":         "nonsense",
		"key of a corpus":   signer.Verifier().String(),
		"more than allowed": strings.Repeat(`x","`, maxWitnesses),
	} {
		writeFile(t, home.Config(), "format = 1\n[peer]\nwitnesses = [\""+key+"\"]\n")
		_, err := Open(t.Context(), Options{Home: home})
		if api.AsError(err).Code != api.CodeUsage || !strings.Contains(err.Error(), "witnesses") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
