package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"arborist/merkle"
)

// An answerLog is a log with chosen records at chosen places.
type answerLog struct {
	tree    *merkle.Tree
	size    int
	note    []byte
	records map[int]Record
}

func newAnswerLog(t tester, s *Signer, size int, records map[int]Record) *answerLog {
	t.Helper()
	leaves := make([]merkle.Hash, size)
	for i := range leaves {
		leaves[i] = merkle.LeafHash(fmt.Appendf(nil, "record %d", i))
	}
	for place, r := range records {
		line, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		leaves[place] = merkle.LeafHash(line)
	}
	l := &answerLog{tree: merkle.NewTree(leaves), size: size, records: records}
	var err error
	if l.note, err = SignCheckpoint(Checkpoint{Origin: s.Name(), Size: uint64(size), Root: l.tree.Root()}, s); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *answerLog) part(t tester, place int) *LogPart {
	t.Helper()
	path, err := merkle.Inclusion(l.tree, uint64(place), uint64(l.size))
	if err != nil {
		t.Fatal(err)
	}
	return &LogPart{Record: l.records[place], Entry: Inclusion{Index: uint64(place), Path: path}, Note: l.note}
}

// labelled returns n chunks that differ from those of any other label.
func labelled(label string, n int) [][]byte {
	chunks := numbered(n)
	for i := range chunks {
		chunks[i] = append([]byte(label+" "), chunks[i]...)
	}
	return chunks
}

// An answer is the proofs of a query's hits and the keys of its corpora.
type answer struct {
	proofs      []*Proof
	main, other *Signer
}

func (a answer) keys() []*Verifier { return []*Verifier{a.main.Verifier(), a.other.Verifier()} }

// testAnswer has seven hits: three in a document and one in another of corpus
// main, one in corpus other, two in a document of no corpus.
func testAnswer(t tester) answer {
	t.Helper()
	a := answer{main: testSigner(t, testPeer+"/main"), other: testSigner(t, testPeer+"/other")}
	first, second, third, private := newTestDocument(labelled("first", 9)), newTestDocument(labelled("second", 5)),
		newTestDocument(labelled("third", 1)), newTestDocument(labelled("private\x00\nchunk 0 5\n", 4))
	log := newAnswerLog(t, a.main, 11, map[int]Record{6: first.record("x:first"), 2: second.record("x:second")})
	otherLog := newAnswerLog(t, a.other, 3, map[int]Record{1: third.record("x:third")})
	hit := func(d *testDocument, chunk int, part *LogPart) {
		p := d.proof(t, chunk)
		p.Log = part
		a.proofs = append(a.proofs, p)
	}
	hit(first, 3, log.part(t, 6))
	hit(private, 2, nil)
	hit(third, 0, otherLog.part(t, 1))
	hit(first, 8, log.part(t, 6))
	hit(second, 4, log.part(t, 2))
	hit(first, 0, log.part(t, 6))
	hit(private, 0, nil)
	return a
}

func mustBundle(t tester, proofs []*Proof) *Bundle {
	t.Helper()
	b, err := NewBundle(proofs)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustForms(t tester, b *Bundle) (text, twin []byte) {
	t.Helper()
	text, err := b.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if twin, err = b.MarshalJSON(); err != nil {
		t.Fatal(err)
	}
	return text, twin
}

// keyFor returns the key of the corpus that a proof names.
func keyFor(p *Proof, keys []*Verifier) *Verifier {
	if p.Log == nil {
		return nil
	}
	head, err := ReadCheckpoint(p.Log.Note)
	if err != nil {
		return nil
	}
	for _, k := range keys {
		if k.name == head.Origin {
			return k
		}
	}
	return nil
}

func TestBundleShowsWhatItsSingleProofsShow(t *testing.T) {
	a := testAnswer(t)
	b := mustBundle(t, a.proofs)
	text, twin := mustForms(t, b)
	for _, file := range [][]byte{text, twin} {
		if !IsBundle(file) {
			t.Error("not recognised as a bundle")
		}
		parsed, err := ParseBundle(file)
		if err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		for _, keys := range [][]*Verifier{nil, a.keys(), a.keys()[:1], a.keys()[1:]} {
			claims, err := VerifyBundle(parsed, ExpectBundle{Keys: keys})
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range a.proofs {
				want, err := Verify(p, Expect{Key: keyFor(p, keys)})
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(claims.Hits[i], want) {
					t.Errorf("hit %d: %+v, want %+v", i+1, claims.Hits[i], want)
				}
			}
			if len(claims.Hits) != 7 || len(claims.Corpora) != 2 || claims.Corpora[0].Hits != 4 || claims.Corpora[1].Hits != 1 {
				t.Errorf("claims %+v", claims)
			}
			for _, c := range claims.Corpora {
				given := slices.ContainsFunc(keys, func(v *Verifier) bool { return v.name == c.Origin })
				if c.SignatureChecked != given {
					t.Errorf("%s: checked %v, key given %v", c.Origin, c.SignatureChecked, given)
				}
			}
		}
		again, err := parsed.Proofs()
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.proofs {
			if got, want := mustText(t, again[i]), mustText(t, a.proofs[i]); got != want {
				t.Errorf("hit %d gives back\n%s\nwant\n%s", i+1, got, want)
			}
		}
	}
	if IsBundle([]byte(mustText(t, a.proofs[0]))) || IsBundle([]byte(mustTwin(t, a.proofs[0]))) {
		t.Error("a proof is recognised as a bundle")
	}
}

// Whatever is merged, split and merged again is one bundle, and it is shorter
// than its parts.
func TestBundlesOfAnyAnswerSurviveBothForms(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	rapid.Check(t, func(t *rapid.T) {
		var documents []*testDocument
		records := map[int]Record{}
		size := rapid.IntRange(1, 20).Draw(t, "size")
		for i := range rapid.IntRange(1, 4).Draw(t, "documents") {
			d := newTestDocument(labelled(fmt.Sprint(i), rapid.IntRange(1, 20).Draw(t, "chunks")))
			documents = append(documents, d)
			if i < size {
				records[i*size/4] = d.record(fmt.Sprint("u:", i))
			}
		}
		log := newAnswerLog(t, s, size, records)
		var proofs []*Proof
		seen := map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "hits") {
			d := rapid.SampledFrom(documents).Draw(t, "document")
			chunk := rapid.IntRange(0, len(d.chunks)-1).Draw(t, "chunk")
			p := d.proof(t, chunk)
			for place, r := range records {
				if r.ID == d.header.ID() {
					p.Log = log.part(t, place)
				}
			}
			if key := string(d.chunks[chunk]); !seen[key] {
				seen[key] = true
				proofs = append(proofs, p)
			}
		}
		b := mustBundle(t, proofs)
		text, twin := mustForms(t, b)
		fromText, err := ParseBundle(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		fromTwin, err := ParseBundle(twin)
		if err != nil {
			t.Fatalf("%v\n%s", err, twin)
		}
		for _, parsed := range []*Bundle{fromText, fromTwin} {
			singles, err := parsed.Proofs()
			if err != nil {
				t.Fatal(err)
			}
			again, _ := mustForms(t, mustBundle(t, singles))
			if !bytes.Equal(again, text) {
				t.Fatalf("split and merged:\n%s\nwant\n%s", again, text)
			}
			claims, err := VerifyBundle(parsed, ExpectBundle{})
			if err != nil || len(claims.Hits) != len(proofs) {
				t.Fatalf("%+v, %v", claims, err)
			}
		}
	})
}

func TestEncodersAgreeWithTheStandardLibrary(t *testing.T) {
	b := mustBundle(t, testAnswer(t).proofs)
	text, own := mustForms(t, b)
	if b, err := json.Marshal(b); err != nil || !bytes.Equal(b, own) {
		t.Errorf("encoding/json changes what MarshalJSON gives: %v", err)
	}
	var fromJSON, fromText Bundle
	if err := json.Unmarshal(own, &fromJSON); err != nil {
		t.Error(err)
	}
	if err := fromText.UnmarshalText(text); err != nil {
		t.Error(err)
	}
	if !reflect.DeepEqual(fromJSON, fromText) {
		t.Error("the two forms give two bundles")
	}
	if err := fromText.UnmarshalText([]byte("x")); !errors.Is(err, ErrFormat) {
		t.Errorf("nonsense: %v", err)
	}
}

func TestWhatIsNoAnswerMakesNoBundle(t *testing.T) {
	later := func(t *testing.T, a answer) []*Proof {
		d := newTestDocument(labelled("late", 2))
		p := d.proof(t, 1)
		p.Log = newAnswerLog(t, a.main, 12, map[int]Record{11: d.record("x:late")}).part(t, 11)
		return append(a.proofs, p)
	}
	for _, row := range []struct {
		name   string
		proofs func(t *testing.T, a answer) []*Proof
		want   error
	}{
		{"nothing", func(*testing.T, answer) []*Proof { return nil }, ErrFormat},
		{"two checkpoints of one corpus", later, ErrCheckpoints},
		{"a passage kept apart", func(_ *testing.T, a answer) []*Proof { a.proofs[2].Text = nil; return a.proofs }, ErrNoPassage},
		{"one place twice", func(_ *testing.T, a answer) []*Proof { return append(a.proofs, a.proofs[3]) }, ErrFormat},
		{"a proof that does not verify", func(_ *testing.T, a answer) []*Proof { a.proofs[3].Chunk.Path[0][0]++; return a.proofs }, ErrTampered},
		{"a wrong hash that merging would drop", func(_ *testing.T, a answer) []*Proof {
			wrong := *a.proofs[5].Log
			wrong.Entry.Path = slices.Clone(wrong.Entry.Path)
			wrong.Entry.Path[0][0]++
			a.proofs[5].Log = &wrong // the third hit of its document
			return a.proofs
		}, ErrTampered},
		{"too many", func(_ *testing.T, a answer) []*Proof { return make([]*Proof, MaxHits+1) }, ErrTooLarge},
	} {
		if b, err := NewBundle(row.proofs(t, testAnswer(t))); !errors.Is(err, row.want) {
			t.Errorf("%s: %+v, %v, want %v", row.name, b, err, row.want)
		}
	}
}

func TestKeysOfABundle(t *testing.T) {
	a := testAnswer(t)
	b := mustBundle(t, a.proofs)
	private := mustBundle(t, []*Proof{a.proofs[1]})
	forger, err := NewSigner(a.main.Name(), [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	stranger := testSigner(t, testPeer+"/stranger").Verifier()
	wrong := mustBundle(t, a.proofs)
	at := bytes.LastIndexByte(wrong.Logs[0].Note, ' ') + 20
	wrong.Logs[0].Note[at] ^= 1
	for _, row := range []struct {
		name    string
		b       *Bundle
		keys    []*Verifier
		want    error
		checked int
	}{
		{"no key", b, nil, nil, 0},
		{"both keys", b, a.keys(), nil, 2},
		{"one key", b, a.keys()[:1], nil, 1},
		{"one key and one of no log", b, []*Verifier{a.keys()[0], stranger}, ErrUnknownKey, 0},
		{"the same key twice", b, []*Verifier{a.keys()[0], a.keys()[0]}, nil, 1},
		{"a key of no log", b, []*Verifier{stranger}, ErrUnknownKey, 0},
		{"another key of that name", b, []*Verifier{forger.Verifier()}, ErrUnknownKey, 0},
		{"another key of that name beside one that checks the other log", b, []*Verifier{forger.Verifier(), a.keys()[1]}, ErrUnknownKey, 0},
		{"two keys of one name, of which one has signed", b, []*Verifier{forger.Verifier(), a.keys()[0]}, nil, 1},
		{"a key, but no log", private, a.keys(), ErrNotLogged, 0},
		{"a wrong signature", wrong, a.keys(), ErrSignature, 0},
		{"a wrong signature that nobody asked about", wrong, a.keys()[1:], nil, 1},
	} {
		claims, err := VerifyBundle(row.b, ExpectBundle{Keys: row.keys})
		checked := 0
		for _, c := range claims.Corpora {
			if c.SignatureChecked {
				checked++
			}
		}
		if !errors.Is(err, row.want) || checked != row.checked || (err != nil && len(claims.Hits) > 0) {
			t.Errorf("%s: %d checked, %v, want %d, %v", row.name, checked, err, row.checked, row.want)
		}
		for i, c := range claims.Hits {
			if k := keyFor(a.proofs[min(i, 6)], row.keys); row.b != private && c.SignatureChecked != (k != nil) {
				t.Errorf("%s: hit %d is checked %v", row.name, i+1, c.SignatureChecked)
			}
		}
	}
	// The Checker remembers notes that it has opened, across bundles and proofs.
	var k Checker
	if _, err := k.VerifyBundle(b, ExpectBundle{Keys: a.keys()}); err != nil || len(k.opened) != 2 {
		t.Errorf("%d notes remembered, %v", len(k.opened), err)
	}
}

// Over the caps: neither written nor read.
func TestCapsOfABundle(t *testing.T) {
	if _, err := ParseBundle(make([]byte, MaxBundle+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
	hits := bundleVersion + "\n" + strings.Repeat("hit 0 0\n", MaxHits+1) + "\n"
	if _, err := ParseBundle([]byte(hits)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("many hits: %v", err)
	}
	hits = bundleJSONPrefix + `1","hits":[` + strings.Repeat("[0,0],", MaxHits+1) + `[0,0]],"logs":[],"documents":[]}`
	if _, err := ParseBundle([]byte(hits)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("many hits in JSON: %v", err)
	}
	var proofs []*Proof
	for i := range 17 {
		d := newTestDocument([][]byte{bytes.Repeat([]byte{byte(i)}, MaxPassage)})
		proofs = append(proofs, d.proof(t, 0))
	}
	b := mustBundle(t, proofs)
	if _, err := b.MarshalText(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("17 MiB of passages: %v", err)
	}
	text := bundleVersion + "\nhit 0 0\n\ndocument " + b.Documents[0].Header.ID().String() + "\n" + string(b.Documents[0].Header.Text()) + "chunk 0 1048577\n"
	if _, err := ParseBundle(append([]byte(text), make([]byte, MaxPassage+3)...)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a long passage: %v", err)
	}
}
