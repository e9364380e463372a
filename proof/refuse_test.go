package proof

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"arborist/document"
	"arborist/merkle"
)

// A refusal is a change of an honest log-form proof, or of what its verifier
// knows, and the error that it must give.
type refusal struct {
	name   string
	change func(p *Proof, e *Expect)
	want   error
}

// refusals lists changes of the proof of chunk 3 of a document of 9 chunks,
// listed by record 6 of 11.
//
// Each row changes one thing of an honest log-form proof in memory, as an
// attacker who builds proofs without our encoder would.
func refusals(t *testing.T, s *Signer, d *testDocument) []refusal {
	other := testSigner(t, testPeer+"/other")
	forger, err := NewSigner(testPeer+"/main", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	e := newTestDocument(numbered(10))
	resign := func(p *Proof, signer *Signer, change func(*Checkpoint)) {
		c, err := ReadCheckpoint(p.Log.Note)
		if err != nil {
			t.Fatal(err)
		}
		change(&c)
		if p.Log.Note, err = SignNote(c.Text(), signer); err != nil {
			t.Fatal(err)
		}
	}
	return []refusal{
		{"chunk index = chunks", func(p *Proof, _ *Expect) { p.Chunk.Index = 9 }, ErrTampered},
		{"chunk index beyond", func(p *Proof, _ *Expect) { p.Chunk.Index = 1 << 62 }, ErrTampered},
		{"chunk path one short", func(p *Proof, _ *Expect) { p.Chunk.Path = p.Chunk.Path[1:] }, ErrTampered},
		{"chunk path one long", func(p *Proof, _ *Expect) { p.Chunk.Path = append(p.Chunk.Path, merkle.Hash{1}) }, ErrTampered},
		{"chunk path missing", func(p *Proof, _ *Expect) { p.Chunk.Path = nil }, ErrTampered},
		{"another chunk", func(p *Proof, _ *Expect) { p.Text = d.chunks[2] }, ErrTampered},
		{"passage longer than the document", func(p *Proof, _ *Expect) { p.Text = make([]byte, 2000) }, ErrTampered},
		{"passage over the cap", func(p *Proof, _ *Expect) { p.Text = make([]byte, MaxPassage+1) }, ErrTooLarge},
		{"empty passage", func(p *Proof, _ *Expect) { p.Text = []byte{} }, ErrFormat},
		{"passage kept apart", func(p *Proof, _ *Expect) { p.Text = nil }, ErrNoPassage},
		{"empty passage given apart", func(p *Proof, e *Expect) { p.Text, e.Text = nil, []byte{} }, ErrFormat},
		{"another passage beside the one inside", func(p *Proof, e *Expect) { e.Text = d.chunks[2] }, ErrTampered},
		{"zero root", func(p *Proof, _ *Expect) { p.Header.Root = document.Root{} }, ErrFormat},
		{"no chunks", func(p *Proof, _ *Expect) { p.Header.Chunks = 0 }, ErrFormat},
		{"header name with a line end", func(p *Proof, _ *Expect) { p.Header.Norm = "norm-v2\n" }, ErrFormat},
		{"header of another document", func(p *Proof, _ *Expect) { p.Header = e.header }, ErrTampered},
		{"record of another document", func(p *Proof, _ *Expect) { p.Log.Record = e.record("x:y") }, ErrTampered},
		{"record with another URI", func(p *Proof, _ *Expect) { p.Log.Record.URI = "x:y" }, ErrTampered},
		{"record with another ID", func(p *Proof, _ *Expect) { p.Log.Record.ID = document.ID{1} }, ErrTampered},
		{"record with other counts under an honest ID", func(p *Proof, _ *Expect) { p.Log.Record.Header.Bytes++ }, ErrTampered},
		{"record that withdraws", func(p *Proof, _ *Expect) { p.Log.Record = p.Log.Record.Withdrawal(testTime) }, ErrFormat},
		{"record and header with other counts", func(p *Proof, _ *Expect) {
			p.Header.Bytes++
			p.Log.Record.Header, p.Log.Record.ID = p.Header, p.Header.ID()
		}, ErrTampered},
		{"record index = size", func(p *Proof, _ *Expect) { p.Log.Entry.Index = 11 }, ErrTampered},
		{"another record index", func(p *Proof, _ *Expect) { p.Log.Entry.Index ^= 1 }, ErrTampered},
		{"record path one short", func(p *Proof, _ *Expect) { p.Log.Entry.Path = p.Log.Entry.Path[1:] }, ErrTampered},
		{"record path one long", func(p *Proof, _ *Expect) { p.Log.Entry.Path = append(p.Log.Entry.Path, merkle.Hash{1}) }, ErrTampered},
		{"record path changed", func(p *Proof, _ *Expect) { p.Log.Entry.Path[0][31]++ }, ErrTampered},
		{"checkpoint of size 0", func(p *Proof, _ *Expect) {
			resign(p, s, func(c *Checkpoint) { c.Size, c.Root = 0, merkle.EmptyRoot() })
		}, ErrFormat},
		{"checkpoint with a zero root", func(p *Proof, _ *Expect) { resign(p, s, func(c *Checkpoint) { c.Root = merkle.Hash{} }) }, ErrFormat},
		{"checkpoint of a size that the path does not fit", func(p *Proof, _ *Expect) { resign(p, s, func(c *Checkpoint) { c.Size = 40 }) }, ErrTampered},
		{"checkpoint of another root", func(p *Proof, _ *Expect) { resign(p, s, func(c *Checkpoint) { c.Root[0]++ }) }, ErrTampered},
		{"checkpoint of another corpus, signed by ours", func(p *Proof, _ *Expect) { resign(p, s, func(c *Checkpoint) { c.Origin = other.Name() }) }, ErrOrigin},
		{"checkpoint signed by another corpus", func(p *Proof, _ *Expect) { resign(p, other, func(*Checkpoint) {}) }, ErrUnknownKey},
		{"checkpoint signed by another key of our name", func(p *Proof, _ *Expect) { resign(p, forger, func(*Checkpoint) {}) }, ErrUnknownKey},
		{"signature of another text", func(p *Proof, _ *Expect) {
			c, _ := ReadCheckpoint(p.Log.Note)
			c.Size++
			note, _ := SignCheckpoint(c, s)
			_, signature, _ := strings.Cut(string(note), "\n\n")
			text, _, _ := strings.Cut(string(p.Log.Note), "\n\n")
			p.Log.Note = []byte(text + "\n\n" + signature)
		}, ErrSignature},
		{"note without signature", func(p *Proof, _ *Expect) {
			text, _, _ := strings.Cut(string(p.Log.Note), "\n\n")
			p.Log.Note = []byte(text + "\n\n")
		}, ErrTruncated},
		{"no note", func(p *Proof, _ *Expect) { p.Log.Note = nil }, ErrFormat},
		{"two lines of one key", func(p *Proof, _ *Expect) {
			_, signature, _ := strings.Cut(string(p.Log.Note), "\n\n")
			p.Log.Note = append(p.Log.Note, signature...)
		}, ErrFormat},
		{"origin without a peer", func(p *Proof, e *Expect) {
			lone := testSigner(t, "lonely")
			resign(p, lone, func(c *Checkpoint) { c.Origin = "lonely" })
			e.Key = lone.Verifier()
		}, ErrFormat},
		{"key of another corpus", func(_ *Proof, e *Expect) { e.Key = other.Verifier() }, ErrUnknownKey},
		{"key, but no corpus part", func(p *Proof, _ *Expect) { p.Log = nil }, ErrNotLogged},
		{"another root expected", func(_ *Proof, x *Expect) { x.Root = &e.header.Root }, ErrDocument},
		{"another ID expected", func(_ *Proof, x *Expect) { id := e.header.ID(); x.ID = &id }, ErrDocument},
	}
}

func TestProofRefusesWhatDoesNotBelongTogether(t *testing.T) {
	s, d := testSigner(t, testPeer+"/main"), newTestDocument(numbered(9))
	for _, row := range refusals(t, s, d) {
		t.Run(row.name, func(t *testing.T) {
			p, x := d.logged(t, s, 3, 6, 11), Expect{Key: s.Verifier()}
			if _, err := Verify(p, x); err != nil {
				t.Fatal(err)
			}
			row.change(p, &x)
			c, err := Verify(p, x)
			if !errors.Is(err, row.want) {
				t.Errorf("error %v, want %v", err, row.want)
			}
			if !reflect.DeepEqual(c, Claim{}) {
				t.Errorf("a refused proof gave a claim: %+v", c)
			}
		})
	}
}

// Impossible places have no file: neither form can be written or read.
func TestImpossiblePlacesHaveNoFile(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	d := newTestDocument(numbered(9))
	for _, row := range []struct {
		name   string
		change func(p *Proof)
		want   error
	}{
		{"chunk 9 of 9", func(p *Proof) {
			p.Chunk = Inclusion{Index: 9, Path: make([]merkle.Hash, merkle.PathLength(9, 9))}
		}, ErrTampered},
		{"record 11 of 11", func(p *Proof) {
			p.Log.Entry = Inclusion{Index: 11, Path: make([]merkle.Hash, merkle.PathLength(11, 11))}
		}, ErrTampered},
		{"a record that is none", func(p *Proof) { p.Log.Record.URI = "" }, ErrFormat},
		{"a record that withdraws", func(p *Proof) { p.Log.Record = p.Log.Record.Withdrawal(testTime) }, ErrFormat},
	} {
		p := d.logged(t, s, 8, 10, 11)
		row.change(p)
		if _, err := p.MarshalText(); !errors.Is(err, row.want) {
			t.Errorf("%s, written as text: %v", row.name, err)
		}
		if _, err := p.MarshalJSON(); !errors.Is(err, row.want) {
			t.Errorf("%s, written as JSON: %v", row.name, err)
		}
		if _, err := Parse(rawText(t, p)); !errors.Is(err, row.want) {
			t.Errorf("%s, read: %v", row.name, err)
		}
		if _, err := Verify(p, Expect{}); !errors.Is(err, row.want) {
			t.Errorf("%s, verified: %v", row.name, err)
		}
	}
}

// A file leaves out the ID of its record, so a header that was changed brings
// an ID of its own: the record with it stands in no log.
func TestAChangedHeaderIsNotTheOneThatWasListed(t *testing.T) {
	s, d := testSigner(t, testPeer+"/main"), newTestDocument(numbered(9))
	for name, change := range map[string]func(h *document.Header){
		"bytes":   func(h *document.Header) { h.Bytes++ },
		"norm":    func(h *document.Header) { h.Norm = "norm-v3" },
		"chunker": func(h *document.Header) { h.Chunker = "block-v2" },
	} {
		p := d.logged(t, s, 8, 10, 11)
		change(&p.Log.Record.Header)
		q, err := Parse(rawText(t, p))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c, err := Verify(q, Expect{Key: s.Verifier()}); !errors.Is(err, ErrTampered) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// A header that is not the one its ID names is damage, not a second spelling.
func TestDamagedHeaderIsTold(t *testing.T) {
	p := newTestDocument(numbered(9)).proof(t, 3)
	for _, file := range []string{mustText(t, p), mustTwin(t, p)} {
		if _, err := Parse([]byte(strings.Replace(file, "bytes 245", "bytes 246", 1))); !errors.Is(err, ErrTampered) {
			t.Errorf("%v", err)
		}
	}
}

func TestOriginIsPeerAndName(t *testing.T) {
	for _, bad := range []string{"", "/", "peer", "peer/", "/main"} {
		if p, n, err := SplitOrigin(bad); !errors.Is(err, ErrFormat) {
			t.Errorf("%q splits into %q and %q, %v", bad, p, n, err)
		}
	}
	if p, n, err := SplitOrigin("peer/a/b"); p != "peer" || n != "a/b" || err != nil {
		t.Errorf("%q, %q, %v", p, n, err)
	}
}

func TestNothingOfACorpusIsClaimedWithoutItsKey(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	d := newTestDocument(numbered(9))
	c, err := Verify(d.logged(t, s, 3, 6, 11), Expect{Root: &d.header.Root})
	if err != nil {
		t.Fatal(err)
	}
	if c.SignatureChecked || c.Corpus != "" || c.Publisher != "" || c.Origin != "" || c.LogSize != 0 || c.Record != (Record{}) {
		t.Errorf("claim %+v", c)
	}
	if st := c.Statement(); !strings.Contains(st, "signature of its corpus was not checked") || !strings.Contains(st, "--key") || strings.Contains(st, testPeer) {
		t.Errorf("statement %q", st)
	}
}

// Without the key a file cannot be checked to its end, but what can be is: a
// record that is not in the log of the checkpoint beside it is refused.
func TestLogIsCheckedAgainstItselfWithoutAKey(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	p := newTestDocument(numbered(9)).logged(t, s, 3, 6, 11)
	p.Log.Record.Title = "another"
	if _, err := Verify(p, Expect{}); !errors.Is(err, ErrTampered) {
		t.Errorf("error %v", err)
	}
}

func TestStatementSaysWhatWasShown(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	d := newTestDocument(numbered(9))
	root, id := d.header.Root, d.header.ID()
	logged, short := d.logged(t, s, 3, 6, 11), d.proof(t, 3)
	for _, row := range []struct {
		name string
		p    *Proof
		e    Expect
		want string
	}{
		{"signed", logged, Expect{Key: s.Verifier()},
			"chunk 3 of 9 (counted from 0) of document " + root.String() + " was in corpus main of " + testPeer + " when its log had 7 of the 11 records that are signed"},
		{"short with ID", short, Expect{ID: &id},
			"the passage is chunk 3 of 9 (counted from 0) of document " + root.String() + ", as its ID " + id.String() + " fixes; no corpus vouches for it"},
		{"short with root", short, Expect{Root: &root},
			"the passage is in document " + root.String() + "; its place, chunk 3 of 9 (counted from 0), is what the header with ID " + id.String() + " says; no corpus vouches for it"},
		{"short alone", short, Expect{},
			"the passage is chunk 3 of 9 (counted from 0) of document " + root.String() + " by the proof's own account; pass --root to compare the document with one that you know; no corpus vouches for it"},
	} {
		c, err := Verify(row.p, row.e)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Statement(); got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", row.name, got, row.want)
		}
	}
}

// A header whose counts cannot be true of the passage is refused even where
// every hash fits: nobody who knew the document would have made it.
func TestHeaderThatLiesOfBytesIsRefused(t *testing.T) {
	for _, row := range []struct {
		chunks, index int
		change        int // of the header's bytes, from those of the passage
		ok            bool
	}{{1, 0, 0, true}, {1, 0, 1, false}, {1, 0, -1, false}, {3, 1, 2, true}, {3, 1, 1, false}} {
		d := newTestDocument(numbered(row.chunks))
		p := d.proof(t, row.index)
		p.Header.Bytes = uint64(len(p.Text) + row.change)
		if _, err := Verify(p, Expect{}); row.ok != (err == nil) || !row.ok && !errors.Is(err, ErrTampered) {
			t.Errorf("%+v: %v", row, err)
		}
	}
}
