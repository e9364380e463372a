package proof

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"arborist/merkle"
)

// A bundleRefusal is a change of an honest bundle, or of what its verifier
// knows, and the error that it must give.
type bundleRefusal struct {
	name   string
	change func(b *Bundle, e *ExpectBundle)
	want   error
}

// bundleRefusals changes the bundle of testAnswer. Its documents are: 0, of five
// chunks with chunk 4, at 2 of 11 in main; 1, of nine with 0, 3 and 8, at 6; 2,
// the only chunk, at 1 of 3 in other; 3, of four with 0 and 2, in no corpus.
func bundleRefusals(t *testing.T, a answer) []bundleRefusal {
	resign := func(l *BundleLog, s *Signer, change func(*Checkpoint)) {
		c, err := ReadCheckpoint(l.Note)
		if err != nil {
			t.Fatal(err)
		}
		change(&c)
		if l.Note, err = SignNote(c.Text(), s); err != nil {
			t.Fatal(err)
		}
	}
	stranger := testSigner(t, testPeer+"/stranger")
	return []bundleRefusal{
		{"no hits", func(b *Bundle, _ *ExpectBundle) { b.Hits = nil }, ErrFormat},
		{"a hit less", func(b *Bundle, _ *ExpectBundle) { b.Hits = b.Hits[1:] }, ErrFormat},
		{"a hit twice", func(b *Bundle, _ *ExpectBundle) { b.Hits[1] = b.Hits[0] }, ErrFormat},
		{"a hit more", func(b *Bundle, _ *ExpectBundle) { b.Hits = append(b.Hits, b.Hits[0]) }, ErrFormat},
		{"a hit of no document", func(b *Bundle, _ *ExpectBundle) { b.Hits[0].Document = 4 }, ErrFormat},
		{"a hit of no chunk", func(b *Bundle, _ *ExpectBundle) { b.Hits[0].Chunk = 1 }, ErrFormat},
		{"logs in another order", func(b *Bundle, _ *ExpectBundle) {
			slices.Reverse(b.Logs)
			for i, h := range b.Hits {
				b.Hits[i].Document = []uint64{1, 2, 0, 3}[h.Document]
			}
		}, ErrFormat},
		{"a log twice", func(b *Bundle, _ *ExpectBundle) { b.Logs = append(b.Logs, b.Logs[1]) }, ErrFormat},
		{"a log without records", func(b *Bundle, _ *ExpectBundle) { b.Logs[1].Documents = nil }, ErrFormat},
		{"records in another order", func(b *Bundle, _ *ExpectBundle) {
			slices.Reverse(b.Logs[0].Documents)
			for i, h := range b.Hits {
				b.Hits[i].Document = []uint64{1, 0, 2, 3}[h.Document]
			}
		}, ErrFormat},
		{"a record twice", func(b *Bundle, _ *ExpectBundle) { b.Logs[0].Documents[1] = b.Logs[0].Documents[0] }, ErrFormat},
		{"a record at another index", func(b *Bundle, _ *ExpectBundle) { b.Logs[0].Documents[0].Index = 3 }, ErrTampered},
		{"a record at size", func(b *Bundle, _ *ExpectBundle) { b.Logs[0].Documents[1].Index = 11 }, ErrTampered},
		{"a record that withdraws", func(b *Bundle, _ *ExpectBundle) {
			r := b.Logs[0].Documents[0].Record.Withdrawal(testTime)
			b.Logs[0].Documents[0].Record = &r
		}, ErrFormat},
		{"a record with another title", func(b *Bundle, _ *ExpectBundle) { b.Logs[0].Documents[0].Record.Title = "x" }, ErrTampered},
		{"a record with other counts", func(b *Bundle, _ *ExpectBundle) {
			d := &b.Logs[0].Documents[0]
			d.Header.Bytes++
			d.Record.Header, d.Record.ID = d.Header, d.Header.ID()
		}, ErrTampered},
		{"records exchanged", func(b *Bundle, _ *ExpectBundle) {
			d := b.Logs[0].Documents
			d[0], d[1] = d[1], d[0]
			d[0].Index, d[1].Index = 2, 6
			for i, h := range b.Hits {
				b.Hits[i].Document = []uint64{1, 0, 2, 3}[h.Document]
			}
		}, ErrTampered},
		{"a log path one short", func(b *Bundle, _ *ExpectBundle) { b.Logs[0].Path = b.Logs[0].Path[1:] }, ErrTampered},
		{"a log path one long", func(b *Bundle, _ *ExpectBundle) { b.Logs[0].Path = append(b.Logs[0].Path, merkle.Hash{1}) }, ErrTampered},
		{"a log path in another order", func(b *Bundle, _ *ExpectBundle) { slices.Reverse(b.Logs[0].Path) }, ErrTampered},
		{"a log path of another log", func(b *Bundle, _ *ExpectBundle) { b.Logs[1].Path[0][0]++ }, ErrTampered},
		{"passages in another order", func(b *Bundle, _ *ExpectBundle) { slices.Reverse(b.Documents[0].Passages) }, ErrFormat},
		{"a document without passages", func(b *Bundle, _ *ExpectBundle) { b.Documents[0].Passages = nil }, ErrFormat},
		{"a passage twice", func(b *Bundle, _ *ExpectBundle) { b.Documents[0].Passages[1] = b.Documents[0].Passages[0] }, ErrFormat},
		{"a chunk index = chunks", func(b *Bundle, _ *ExpectBundle) {
			b.Documents[0].Passages[1].Chunk = 4
			b.Hits[1].Chunk = 4
		}, ErrTampered},
		{"a passage at another index", func(b *Bundle, _ *ExpectBundle) {
			b.Documents[0].Passages[1].Chunk = 3
			b.Hits[1].Chunk = 3
		}, ErrTampered},
		{"passages exchanged", func(b *Bundle, _ *ExpectBundle) {
			p := b.Documents[0].Passages
			p[0].Text, p[1].Text = p[1].Text, p[0].Text
		}, ErrTampered},
		{"a passage of another document", func(b *Bundle, _ *ExpectBundle) {
			b.Documents[0].Passages[0].Text = b.Logs[0].Documents[1].Passages[0].Text
		}, ErrTampered},
		{"an empty passage", func(b *Bundle, _ *ExpectBundle) { b.Documents[0].Passages[0].Text = []byte{} }, ErrFormat},
		{"a passage longer than the document", func(b *Bundle, _ *ExpectBundle) {
			b.Documents[0].Passages[0].Text = make([]byte, 500)
		}, ErrTampered},
		{"a chunk path one short", func(b *Bundle, _ *ExpectBundle) { b.Documents[0].Path = b.Documents[0].Path[1:] }, ErrTampered},
		{"a chunk path one long", func(b *Bundle, _ *ExpectBundle) {
			b.Documents[0].Path = append(b.Documents[0].Path, merkle.Hash{1})
		}, ErrTampered},
		{"a chunk path in another order", func(b *Bundle, _ *ExpectBundle) { slices.Reverse(b.Documents[0].Path) }, ErrTampered},
		{"a chunk path changed", func(b *Bundle, _ *ExpectBundle) { b.Logs[0].Documents[1].Path[1][31]++ }, ErrTampered},
		{"a header with other counts", func(b *Bundle, _ *ExpectBundle) { b.Documents[0].Header.Chunks = 5 }, ErrTampered},
		{"documents in no corpus in another order", func(b *Bundle, _ *ExpectBundle) { twoLoose(t, b, true) }, ErrFormat},
		{"a document in no corpus twice", func(b *Bundle, _ *ExpectBundle) { b.Documents = append(b.Documents, b.Documents[0]) }, ErrFormat},
		{"a checkpoint of size 0", func(b *Bundle, _ *ExpectBundle) {
			resign(&b.Logs[0], a.main, func(c *Checkpoint) { c.Size, c.Root = 0, merkle.EmptyRoot() })
		}, ErrFormat},
		{"a checkpoint of another size", func(b *Bundle, _ *ExpectBundle) {
			resign(&b.Logs[0], a.main, func(c *Checkpoint) { c.Size = 40 })
		}, ErrTampered},
		{"a checkpoint of another root", func(b *Bundle, _ *ExpectBundle) {
			resign(&b.Logs[0], a.main, func(c *Checkpoint) { c.Root[0]++ })
		}, ErrTampered},
		{"a checkpoint signed by another corpus", func(b *Bundle, _ *ExpectBundle) {
			resign(&b.Logs[0], a.other, func(*Checkpoint) {})
		}, ErrUnknownKey},
		{"a checkpoint of an origin that no key is for", func(b *Bundle, _ *ExpectBundle) {
			resign(&b.Logs[1], stranger, func(c *Checkpoint) { c.Origin = stranger.Name() })
		}, ErrUnknownKey},
		{"a signature of another text", func(b *Bundle, _ *ExpectBundle) {
			text, _, _ := strings.Cut(string(b.Logs[0].Note), "\n\n")
			resign(&b.Logs[0], a.main, func(c *Checkpoint) { c.Size++ })
			_, signature, _ := strings.Cut(string(b.Logs[0].Note), "\n\n")
			b.Logs[0].Note = []byte(text + "\n\n" + signature)
		}, ErrSignature},
		{"a note without signature", func(b *Bundle, _ *ExpectBundle) {
			text, _, _ := strings.Cut(string(b.Logs[0].Note), "\n\n")
			b.Logs[0].Note = []byte(text + "\n\n")
		}, ErrTruncated},
		{"a key of no log", func(_ *Bundle, e *ExpectBundle) { e.Keys = append(e.Keys, stranger.Verifier()) }, ErrUnknownKey},
		{"keys, but no log", func(b *Bundle, _ *ExpectBundle) {
			*b = *mustBundle(t, []*Proof{a.proofs[1], a.proofs[6]})
		}, ErrNotLogged},
	}
}

// twoLoose makes b a bundle of two documents in no corpus, in this order or in
// the other.
func twoLoose(t *testing.T, b *Bundle, reversed bool) {
	*b = *mustBundle(t, []*Proof{newTestDocument(numbered(2)).proof(t, 0), newTestDocument(numbered(3)).proof(t, 0)})
	if reversed {
		slices.Reverse(b.Documents)
	}
}

func TestBundleRefusesWhatDoesNotBelongTogether(t *testing.T) {
	for _, row := range bundleRefusals(t, testAnswer(t)) {
		t.Run(row.name, func(t *testing.T) {
			a := testAnswer(t)
			b, e := mustBundle(t, a.proofs), ExpectBundle{Keys: a.keys()}
			if _, err := VerifyBundle(b, e); err != nil {
				t.Fatal(err)
			}
			row.change(b, &e)
			c, err := VerifyBundle(b, e)
			if !errors.Is(err, row.want) {
				t.Errorf("error %v, want %v", err, row.want)
			}
			if c.Hits != nil || c.Corpora != nil {
				t.Errorf("a refused bundle gave claims: %+v", c)
			}
		})
	}
}

// rawBundle encodes a bundle that check would refuse.
func rawBundle(t *testing.T, b *Bundle, encode func(*Bundle, bundleParts) ([]byte, error)) []byte {
	var c bundleParts
	for _, d := range b.documents() {
		c.headers = append(c.headers, hashedHeader{d.Header.Text(), d.Header.ID()})
		var line []byte
		if d.Record != nil {
			line = d.Record.appendLine(nil)
		}
		c.lines = append(c.lines, line)
	}
	file, err := encode(b, c)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// What is refused in memory is refused as a file too.
func TestRefusedBundlesHaveNoFile(t *testing.T) {
	for _, row := range bundleRefusals(t, testAnswer(t)) {
		a := testAnswer(t)
		b, e := mustBundle(t, a.proofs), ExpectBundle{Keys: a.keys()}
		row.change(b, &e)
		for _, encode := range []func(*Bundle, bundleParts) ([]byte, error){(*Bundle).encodeText, (*Bundle).encodeJSON} {
			if acceptsBundle(new(Checker), rawBundle(t, b, encode), e) {
				t.Errorf("%s: accepted as a file", row.name)
			}
		}
	}
}
