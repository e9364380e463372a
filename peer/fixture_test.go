package peer

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/document"
	"arborist/proof"
	"arborist/shard"
)

var (
	listenTCP  = []string{"/ip4/127.0.0.1/tcp/0"}
	listenQUIC = []string{"/ip4/127.0.0.1/udp/0/quic-v1"}
)

// A node is a home with a shared store, and a peer over it while it is up.
type node struct {
	t       testing.TB
	dir     string
	shared  *shard.Shared
	peer    *Peer
	id      string
	signers map[string]*proof.Signer
	rotated byte // keys that were made after the first ones
}

func newNode(t testing.TB) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir(), signers: make(map[string]*proof.Signer)}
	if err := shard.CreateShared(filepath.Join(n.dir, "shards"), 2); err != nil {
		t.Fatal(err)
	}
	var err error
	if n.id, err = LoadID(n.keyFile()); err != nil {
		t.Fatal(err)
	}
	n.openStore()
	t.Cleanup(n.close)
	return n
}

func (n *node) keyFile() string { return filepath.Join(n.dir, "keys", "peer.key") }

func (n *node) openStore() {
	n.t.Helper()
	var err error
	if n.shared, err = shard.OpenShared(filepath.Join(n.dir, "shards")); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) close() {
	if n.peer != nil {
		if err := n.peer.Close(); err != nil {
			n.t.Errorf("close peer: %v", err)
		}
		n.peer = nil
	}
	if n.shared != nil {
		if err := n.shared.Close(); err != nil {
			n.t.Errorf("close store: %v", err)
		}
		n.shared = nil
	}
}

// up starts the peer; each fn may change its configuration.
func (n *node) up(listen []string, fns ...func(*Config)) *node {
	n.t.Helper()
	cfg := Config{KeyFile: n.keyFile(), Listen: listen}
	for _, fn := range fns {
		fn(&cfg)
	}
	var err error
	if n.peer, err = New(cfg, n.shared); err != nil {
		n.t.Fatal(err)
	}
	return n
}

// signer returns the key of one of the node's corpora and makes both at first.
func (n *node) signer(name string) *proof.Signer {
	n.t.Helper()
	if s := n.signers[name]; s != nil {
		return s
	}
	s, err := proof.NewSigner(n.id+"/"+name, [32]byte{byte(len(n.signers) + 1), byte(n.id[10]), byte(n.id[20])})
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.shared.Corpora().Create(n.t.Context(), name, s.Verifier()); err != nil {
		n.t.Fatal(err)
	}
	n.signers[name] = s
	return s
}

func (n *node) origin(name string) string { return n.id + "/" + name }

// publish puts documents into a corpus of the node.
func (n *node) publish(name string, entries ...document.Entry) {
	n.t.Helper()
	s := n.signer(name)
	if _, err := n.shared.Publisher(s.Name(), s).Put(n.t.Context(), entries); err != nil {
		n.t.Fatal(err)
	}
}

// withdraw takes a document off a URI, in the shards and in the log.
func (n *node) withdraw(name, uri string) {
	n.t.Helper()
	ctx, origin := n.t.Context(), n.origin(name)
	history, err := n.shared.Corpora().History(ctx, origin, uri, 1)
	if err != nil || len(history) != 1 {
		n.t.Fatalf("no record of %s: %v", uri, err)
	}
	if err := n.shared.Withdraw(ctx, origin, uri); err != nil {
		n.t.Fatal(err)
	}
	w := history[0].Record.Withdrawal(testTime)
	if _, err := n.shared.Corpora().Append(ctx, origin, n.signer(name), []proof.Record{w}); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) addr() string {
	n.t.Helper()
	addrs := n.peer.Addrs()
	if len(addrs) == 0 {
		n.t.Fatal("the node listens nowhere")
	}
	return addrs[0]
}

// sync fetches a corpus and fails the test on an error.
func (n *node) sync(from, corpus string) SyncResult {
	n.t.Helper()
	res, err := n.peer.Sync(n.t.Context(), from, corpus, nil)
	if err != nil {
		n.t.Fatalf("sync: %v", err)
	}
	return res
}

// size returns how many records of a corpus the node has accepted.
func (n *node) size(origin string) uint64 {
	n.t.Helper()
	info, err := n.shared.Corpora().Lookup(n.t.Context(), origin)
	if err != nil {
		n.t.Fatal(err)
	}
	return info.Size
}

// documents returns how many documents the shards hold.
func (n *node) documents() int {
	n.t.Helper()
	st, err := n.shared.Stats(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	return int(st.Documents)
}

// sameCorpus checks that a follower has the publisher's log, documents and
// locations with their whole history.
func sameCorpus(t testing.TB, publisher, follower *node, name string) {
	t.Helper()
	compare(t, publisher, follower, name, true)
}

// sameLog checks that a follower has the publisher's log, documents and what
// is current. After a kill, versions may stand twice in a history: what was
// stored but not yet in the log is stored again, in the log's order.
func sameLog(t testing.TB, publisher, follower *node, name string) {
	t.Helper()
	compare(t, publisher, follower, name, false)
}

func compare(t testing.TB, publisher, follower *node, name string, exact bool) {
	t.Helper()
	ctx, origin := t.Context(), publisher.origin(name)
	size := publisher.size(origin)
	want, err := publisher.shared.Corpora().Records(ctx, origin, 0, size)
	if err != nil {
		t.Fatal(err)
	}
	got, err := follower.shared.Corpora().Records(ctx, origin, 0, size)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the follower's records differ from the publisher's")
	}
	for _, r := range want {
		if r.Op != proof.OpWithdraw {
			a, err := publisher.shared.Document(ctx, r.Header.Root)
			if err != nil {
				t.Fatal(err)
			}
			b, err := follower.shared.Document(ctx, r.Header.Root)
			if err != nil {
				t.Fatal(err)
			}
			if string(a.Text()) != string(b.Text()) {
				t.Fatalf("the text of %s differs", r.Header.Root)
			}
		}
		a, b := states(t, publisher, origin, r.URI), states(t, follower, origin, r.URI)
		if exact && !slices.Equal(a, b) || len(a) == 0 || len(b) == 0 || a[0] != b[0] {
			t.Errorf("history of %s: follower %v, publisher %v", r.URI, b, a)
		}
	}
	if n, err := follower.shared.Check(ctx, func(p string) { t.Errorf("check: %s", p) }); err != nil || n == 0 {
		t.Errorf("check of the follower: %d documents, %v", n, err)
	}
}

// states spells out the versions at a URI of a corpus.
func states(t testing.TB, n *node, origin, uri string) (all []string) {
	t.Helper()
	versions, err := n.shared.History(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		if l := v.Location; l.Corpus == origin {
			all = append(all, fmt.Sprint(v.Root, v.Current, v.SupersededBy, l.Title, l.Source, l.FetchedAt))
		}
	}
	return all
}

var testTime = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func entryOf(t testing.TB, uri, text string) document.Entry {
	t.Helper()
	d, err := document.New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return document.Entry{Document: d, Location: document.Location{
		URI: uri, Title: "Title of " + uri, Source: "test", FetchedAt: testTime,
	}}
}

// entriesOf returns n documents of about size bytes with URIs under prefix.
func entriesOf(t testing.TB, prefix string, n, size int) []document.Entry {
	t.Helper()
	all := make([]document.Entry, n)
	for i := range all {
		uri := fmt.Sprintf("%s/%d", prefix, i)
		all[i] = entryOf(t, uri, textOf(uri, size))
	}
	return all
}

// textOf returns a text of about size bytes that no other seed gives.
func textOf(seed string, size int) string {
	var key [32]byte
	copy(key[:], seed)
	copy(key[24:], fmt.Sprint(len(seed)))
	r := rand.New(rand.NewChaCha8(key))
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", seed)
	for b.Len() < size {
		for range 8 + r.IntN(12) {
			fmt.Fprintf(&b, "%s ", words[r.IntN(len(words))])
		}
		b.WriteString("end.\n\n")
	}
	return b.String()
}

var words = strings.Fields(`tree leaf root branch bark ring seed forest oak ash elm birch grove trunk sap twig canopy
	moss fern soil rain light shade wind frost spring summer autumn winter axe saw plane grain knot resin cone needle`)

// testLog returns a log that drops what is written to it.
func testLog(testing.TB) *slog.Logger { return slog.New(slog.DiscardHandler) }

// heapGrowth returns how many bytes fn allocated, freed or not.
func heapGrowth(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// verifyProof checks a proof file with the offline verifier.
func verifyProof(t testing.TB, file []byte, key *proof.Verifier, root document.Root, chunk uint64) {
	t.Helper()
	p, err := proof.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	claim, err := proof.Verify(p, proof.Expect{Key: key, Root: &root})
	if err != nil {
		t.Fatal(err)
	}
	if claim.Root != root || claim.Chunk != chunk || claim.Corpus == "" {
		t.Errorf("the proof claims chunk %d of %s in %q, want chunk %d of %s", claim.Chunk, claim.Root, claim.Corpus, chunk, root)
	}
}

// seedKey returns the Ed25519 key that belongs to a number.
func seedKey(i int) ed25519.PrivateKey {
	var seed [ed25519.SeedSize]byte
	binary.BigEndian.PutUint64(seed[:], uint64(i))
	return ed25519.NewKeyFromSeed(seed[:])
}
