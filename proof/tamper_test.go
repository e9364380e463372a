package proof

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"arborist/document"
	"arborist/merkle"
)

// A shape is a valid proof file with what its verifier knows.
type shape struct {
	name string
	file []byte
	e    Expect
}

// shapes returns about 100 valid proofs: both forms in both spellings, with
// the passage inside or apart, trees and logs of many sizes.
func shapes(t testing.TB) []shape {
	s := testSigner(t, testPeer+"/main")
	var all []shape
	add := func(name string, p *Proof, e Expect) {
		text, err := p.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		twin, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, shape{name + " text", text, e}, shape{name + " json", twin, e})
	}
	for k, n := range []int{1, 2, 3, 4, 5, 7, 8, 13, 100, 1000} {
		d := newTestDocument(numbered(n))
		i := (n*k + 3) % n
		add(fmt.Sprintf("short %d of %d", i, n), d.proof(t, i), Expect{})
		apart := d.proof(t, i)
		apart.Text = nil
		add(fmt.Sprintf("short %d of %d apart", i, n), apart, Expect{Text: d.chunks[i], Root: &d.header.Root})
		size := 1 + k*k*7
		logged := d.logged(t, s, i, size*k/10, size)
		add(fmt.Sprintf("logged %d of %d in %d", i, n, size), logged, Expect{Key: s.Verifier()})
		again := *logged
		again.Text = nil
		add(fmt.Sprintf("logged %d of %d in %d apart", i, n, size), &again, Expect{Key: s.Verifier(), Text: d.chunks[i]})
		replaced := d.proof(t, 0)
		replaced.Log = logPart(t, s, NewRecord(d.header, document.Location{URI: "x:y", FetchedAt: testTime}, document.ID{9}), 0, n)
		add(fmt.Sprintf("supersede %d", n), replaced, Expect{Key: s.Verifier(), ID: &replaced.Log.Record.ID})
	}
	return all
}

func accepts(k *Checker, file []byte, e Expect) bool {
	p, err := Parse(file)
	if err != nil {
		return false
	}
	_, err = k.Verify(p, e)
	return err == nil
}

// Threat 1. Files of up to 400 bytes are flipped in every bit, larger ones in
// a random sample.
func TestNoFlippedBitIsAccepted(t *testing.T) {
	const most, sample = 3200, 1500
	random := rand.New(rand.NewPCG(1, 2))
	files, flips, whole := 0, 0, 0
	for _, s := range shapes(t) {
		var k Checker
		if !accepts(&k, s.file, s.e) {
			t.Fatalf("%s: the untouched proof is refused\n%s", s.name, s.file)
		}
		files++
		bits := len(s.file) * 8
		if bits <= most {
			whole++
		}
		count := bits
		if bits > most {
			count = sample
		}
		for bit := range count {
			if bits > most {
				bit = random.IntN(bits)
			}
			s.file[bit/8] ^= 1 << (bit % 8)
			if accepts(&k, s.file, s.e) {
				t.Errorf("%s: accepted with bit %d flipped:\n%s", s.name, bit, s.file)
			}
			s.file[bit/8] ^= 1 << (bit % 8)
			flips++
		}
	}
	t.Logf("%d flips in %d files, %d of them in every bit", flips, files, whole)
	if files < 100 || whole < 5 {
		t.Errorf("only %d files, %d in every bit", files, whole)
	}
}

func TestNoFlippedBitOfAPassageGivenApartIsAccepted(t *testing.T) {
	for _, s := range shapes(t) {
		if s.e.Text == nil {
			continue
		}
		text := bytes.Clone(s.e.Text)
		for bit := range len(text) * 8 {
			text[bit/8] ^= 1 << (bit % 8)
			if accepts(new(Checker), s.file, Expect{Text: text}) {
				t.Errorf("%s: accepted with bit %d of the passage flipped", s.name, bit)
			}
			text[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestEveryCutFileIsRefused(t *testing.T) {
	for _, s := range shapes(t) {
		if len(s.file) > 1500 {
			continue
		}
		var k Checker
		for n := range s.file {
			if accepts(&k, s.file[:n], Expect{Key: s.e.Key}) {
				t.Errorf("%s: accepted after %d of %d bytes", s.name, n, len(s.file))
			}
		}
	}
}

// Threat 2: what hashes to an inner node is never a chunk.
func TestInnerNodeIsNoChunk(t *testing.T) {
	d := newTestDocument(numbered(4))
	left, _ := d.tree.Node(0, 0)
	right, _ := d.tree.Node(0, 1)
	sibling, _ := d.tree.Node(1, 1)
	header := d.header
	header.Chunks = 2
	header.Bytes = 200
	for name, text := range map[string][]byte{
		"children":            append(left[:], right[:]...),
		"prefix and children": append([]byte{1}, append(left[:], right[:]...)...),
		"the node's own hash": func() []byte { h := merkle.NodeHash(left, right); return h[:] }(),
	} {
		p := &Proof{Chunk: Inclusion{Index: 0, Path: []merkle.Hash{sibling}}, Header: header, Text: text}
		if _, err := Verify(p, Expect{}); !errors.Is(err, ErrTampered) {
			t.Errorf("%s offered as chunk 0 of 2: %v", name, err)
		}
	}
}

// An attacker who chooses the header can move a true passage: a root alone
// binds no place. The ID does, and so does a signed record.
func TestOnlyIDOrSignatureFixesThePlace(t *testing.T) {
	d := newTestDocument(numbered(5))
	node, _ := d.tree.Node(2, 0)
	lie := d.header
	lie.Chunks, lie.Bytes = 2, d.header.Bytes
	p := &Proof{Chunk: Inclusion{Index: 1, Path: []merkle.Hash{node}}, Header: lie, Text: d.chunks[4]}
	root, id := d.header.Root, d.header.ID()
	c, err := Verify(p, Expect{Root: &root})
	if err != nil {
		t.Fatalf("leaf 4 of 5 does not pass as 1 of 2 below a bare root any more: %v", err)
	}
	if c.IDChecked || c.ID == id {
		t.Errorf("claim says that the place is fixed: %+v", c)
	}
	if _, err := Verify(p, Expect{ID: &id}); !errors.Is(err, ErrDocument) {
		t.Errorf("with the ID expected: %v", err)
	}
	s := testSigner(t, testPeer+"/main")
	p.Log = d.logged(t, s, 4, 2, 9).Log
	if _, err := Verify(p, Expect{}); !errors.Is(err, ErrTampered) {
		t.Errorf("with the honest record: %v", err)
	}
	p.Header = p.Log.Record.Header
	if _, err := Verify(p, Expect{}); !errors.Is(err, ErrTampered) {
		t.Errorf("with record and header: %v", err)
	}
}
