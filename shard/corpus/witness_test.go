package corpus

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"arborist/document"
	"arborist/proof"
)

func testWitness(t tester, name string) *proof.CosignSigner {
	t.Helper()
	w, err := proof.NewCosignSigner(name, [32]byte{byte(len(name)), name[0], name[len(name)-1]})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return w
}

func cosigned(t tester, note []byte, seconds int64, by ...*proof.CosignSigner) []byte {
	t.Helper()
	for _, w := range by {
		var err error
		if note, err = w.Cosign(note, time.Unix(seconds, 0)); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return note
}

// spoiled gives note lines that nobody should keep: of an unknown key, and one
// that names a known witness and is wrong.
func spoiled(note []byte, known *proof.CosignSigner) []byte {
	vkey := strings.Split(known.Cosigner().String(), "+")
	id, err := hex.DecodeString(vkey[1])
	if err != nil {
		panic(err)
	}
	line := func(name string, id []byte) string {
		return "— " + name + " " + base64.StdEncoding.EncodeToString(append(id, make([]byte, 72)...)) + "\n"
	}
	return append(bytes.Clone(note), line("somebody", []byte("keyh"))+line(vkey[0], id)...)
}

// checkSigners fails unless exactly these have signed the stored head, in the
// order in which notes have them.
func checkSigners(t *testing.T, s *Store, m *model, want ...string) {
	t.Helper()
	note, err := s.Note(context.Background(), m.origin())
	if err != nil {
		t.Fatal(err)
	}
	checkLines(t, note, append([]string{m.origin()}, want...)...)
}

func checkLines(t *testing.T, note []byte, want ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(string(note)) {
		if rest, ok := strings.CutPrefix(line, "— "); ok {
			name, _, _ := strings.Cut(rest, " ")
			got = append(got, name)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("lines of %q, want %q", got, want)
	}
}

// Whichever way a note comes in, what is stored of it are the lines of the
// corpus's key and the right ones of known witnesses.
func TestStoredNotesHoldOnlyKnownLines(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	w1, w2, stranger := testWitness(t, "w1"), testWitness(t, "w2"), testWitness(t, "zz")
	dirty := func(n uint64) []byte {
		return spoiled(cosigned(t, m.note(n), 1700000000, stranger, w2), w1)
	}
	ways := []struct {
		name string
		take func(s *Store) error
		want []string
	}{
		{"Extend", func(s *Store) error {
			_, err := s.Extend(ctx, m.origin(), dirty(300), m.lines[100:])
			return err
		}, []string{"w2"}},
		{"ExtendFrom", func(s *Store) error {
			_, err := s.ExtendFrom(ctx, m.origin(), dirty(300), m.from(300))
			return err
		}, []string{"w2"}},
		{"Extend with the same head", func(s *Store) error {
			_, err := s.Extend(ctx, m.origin(), dirty(100), nil)
			return err
		}, []string{"w2"}},
		{"RememberHead with the same head", func(s *Store) error {
			_, err := s.RememberHead(ctx, m.origin(), dirty(100), nil)
			return err
		}, []string{"w2"}},
		{"AddCosignatures", func(s *Store) error {
			added, err := s.AddCosignatures(ctx, m.origin(), dirty(100))
			if added != 1 {
				t.Errorf("%d lines added, want 1", added)
			}
			return err
		}, []string{"w2"}},
		{"RememberHead twice, then Extend", func(s *Store) error {
			if _, err := s.RememberHead(ctx, m.origin(), dirty(300), m.consistency(100, 300)); err != nil {
				return err
			}
			_, note, err := s.Head(ctx, m.origin())
			if err != nil {
				return err
			}
			checkLines(t, note, m.origin(), "w2")
			if _, err := s.RememberHead(ctx, m.origin(), cosigned(t, m.note(300), 1700000000, w1), nil); err != nil {
				return err
			}
			_, err = s.Extend(ctx, m.origin(), m.note(300), m.lines[100:])
			return err
		}, []string{"w1", "w2"}},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			s := newStore(t)
			s.SetWitnesses([]*proof.Cosigner{w1.Cosigner(), w2.Cosigner()}, nil)
			followTo(t, s, m, 100)
			if err := way.take(s); err != nil {
				t.Fatal(err)
			}
			checkSigners(t, s, m, way.want...)
			checkStore(t, s)
		})
	}
}

// Whatever else went wrong with a store, a witness never vouches for a head that
// contradicts the last one it has vouched for.
func TestAWitnessComparesEachHeadWithItsLastWord(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 40)
	other := m.head(30)
	other.Root[0]++
	for name, last := range map[string]struct {
		text []byte
		may  bool
	}{
		"the same log, shorter": {m.head(10).Text(), true},
		"the head itself":       {m.head(30).Text(), true},
		"another log":           {m.fork(5).thenOther(t, 20).head(20).Text(), false},
		"another root":          {other.Text(), false},
		"a longer log":          {m.head(40).Text(), false},
		"nothing that was ever": {[]byte("x"), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			followTo(t, s, m, 30)
			w := testWitness(t, "w1")
			s.SetWitnesses(nil, w)
			_, err := s.write.Exec("INSERT INTO witness (corpus, active, cosigned) SELECT id, 0, ? FROM corpus", last.text)
			if err != nil {
				t.Fatal(err)
			}
			err = s.Witness(ctx, m.origin(), true)
			if last.may {
				if err != nil {
					t.Fatal(err)
				}
				checkSigners(t, s, m, "w1")
				return
			}
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("it vouches: %v", err)
			}
			checkSigners(t, s, m)
		})
	}
}

// thenOther continues a log by records that no other log has, up to n.
func (m *model) thenOther(t *testing.T, n uint64) *model {
	t.Helper()
	for i := m.size(); i < n; i++ {
		content := fmt.Sprint("other ", i)
		m.put(proof.NewRecord(header(content), document.Location{URI: "file:" + content, FetchedAt: time.Unix(1, 0)}, document.ID{}))
	}
	return m
}
