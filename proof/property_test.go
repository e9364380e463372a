package proof

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"arborist/merkle"
)

// drawDocument draws a document whose chunks repeat often, so that the same
// chunk truly stands in several places.
func drawDocument(t *rapid.T) *testDocument {
	chunk := rapid.SampledFrom([]string{"a", "b", "cc", "the same again", "\x00\x01"})
	var chunks [][]byte
	for _, c := range rapid.SliceOfN(chunk, 1, 40).Draw(t, "chunks") {
		chunks = append(chunks, []byte(c))
	}
	return newTestDocument(chunks)
}

// With n bound by the header, a path verifies for an index only where that
// chunk truly stands there, whatever index, path and text are combined.
func TestPathVerifiesOnlyWhereTheChunkStands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		n := len(d.chunks)
		index := rapid.IntRange(0, n-1)
		claimed, pathOf, textOf := index.Draw(t, "claimed"), index.Draw(t, "pathOf"), index.Draw(t, "textOf")
		path, err := merkle.Inclusion(d.tree, uint64(pathOf), uint64(n))
		if err != nil {
			t.Fatal(err)
		}
		p := &Proof{Chunk: Inclusion{Index: uint64(claimed), Path: path}, Header: d.header, Text: d.chunks[textOf]}
		c, err := Verify(p, Expect{})
		truth := bytes.Equal(d.chunks[claimed], d.chunks[textOf])
		if err == nil && !truth {
			t.Fatalf("chunk %d verifies at %d with the path of %d: %q", textOf, claimed, pathOf, d.chunks)
		}
		if claimed == pathOf && truth && err != nil {
			t.Fatalf("chunk %d is refused at its place: %v", claimed, err)
		}
		if err == nil && (c.Chunk != uint64(claimed) || c.Chunks != uint64(n)) {
			t.Fatalf("claim %+v", c)
		}
	})
}

// The same one level up: a record verifies only at its index in the log.
func TestRecordVerifiesOnlyWhereItStands(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	d := newTestDocument(numbered(3))
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 60).Draw(t, "size")
		place := rapid.IntRange(0, size-1).Draw(t, "place")
		p := d.proof(t, 1)
		p.Log = logPart(t, s, d.record("u"), place, size)
		claimed := rapid.IntRange(0, size+2).Draw(t, "claimed")
		p.Log.Entry.Index = uint64(claimed)
		c, err := Verify(p, Expect{Key: s.Verifier()})
		if (err == nil) != (claimed == place) {
			t.Fatalf("record %d of %d at %d: %v", place, size, claimed, err)
		}
		if err == nil && (c.LogIndex != uint64(place) || c.LogSize != uint64(size)) {
			t.Fatalf("claim %+v", c)
		}
	})
}

// The alias that the rules above exist for, at the bare level of the tree.
func TestBareRootsAliasPlaces(t *testing.T) {
	d := newTestDocument(numbered(5))
	path, _ := merkle.Inclusion(d.tree, 4, 5)
	if err := merkle.VerifyInclusion(d.leaf(4), 1, 2, path, d.header.Root.Hash()); err != nil {
		t.Errorf("leaf 4 of 5 is not leaf 1 of 2 below a bare root any more: %v", err)
	}
}

// Logs are the logs of sumdb: its checker accepts our record path.
func TestRecordPathsAgreeWithSumdb(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	d := newTestDocument(numbered(3))
	for size := 1; size < 40; size++ {
		for _, place := range []int{0, size / 2, size - 1} {
			l := logPart(t, s, d.record("u"), place, size)
			line, _ := l.Record.Line()
			head, err := ReadCheckpoint(l.Note)
			if err != nil {
				t.Fatal(err)
			}
			var path tlog.RecordProof
			for _, h := range l.Entry.Path {
				path = append(path, tlog.Hash(h))
			}
			if err := tlog.CheckRecord(path, int64(head.Size), tlog.Hash(head.Root), int64(place), tlog.RecordHash(line)); err != nil {
				t.Errorf("record %d of %d: %v", place, size, err)
			}
		}
	}
}

func TestProofsSurviveBothFormsWhateverTheyHold(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		p := d.proof(t, rapid.IntRange(0, len(d.chunks)-1).Draw(t, "index"))
		e := Expect{}
		if rapid.Bool().Draw(t, "logged") {
			r := d.record("u" + rapid.StringMatching(`[!-~]{0,60}`).Draw(t, "uri"))
			r.Title = TrimTitle(rapid.String().Draw(t, "title"))
			size := rapid.IntRange(1, 20).Draw(t, "size")
			p.Log = logPart(t, s, r, rapid.IntRange(0, size-1).Draw(t, "place"), size)
			e.Key = s.Verifier()
		}
		if rapid.Bool().Draw(t, "apart") {
			e.Text, p.Text = p.Text, nil
		}
		text, err := p.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		fromText, err := Parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		twin, err := fromText.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		fromTwin, err := Parse(twin)
		if err != nil {
			t.Fatalf("%v\n%s", err, twin)
		}
		if again, err := fromTwin.MarshalText(); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("the twin gives %s, %v", again, err)
		}
		if _, err := Verify(fromTwin, e); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(fromTwin, Expect{Key: e.Key}); e.Text != nil && !errors.Is(err, ErrNoPassage) {
			t.Fatalf("without its passage: %v", err)
		}
	})
}
