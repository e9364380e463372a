package proof

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"arborist/merkle"
)

type filterRow struct {
	name string
	note []byte
	want error
}

func testFilterHead(origin string) FilterHead {
	return FilterHead{Head: Checkpoint{Origin: origin, Size: 3, Root: merkle.Hash{7, 'r'}}, Sum: SumFilter([]byte("a filter"))}
}

// filterRows lists notes about filters, and notes that are none.
func filterRows(t tester) []filterRow {
	keys := newCorpusKeys(t, 2)
	f := testFilterHead(keys[0].Name())
	text := string(f.Text())
	valid := signed(t, text, keys[0])
	checkpoint, err := SignCheckpoint(f.Head, keys[0])
	if err != nil {
		t.Fatal(err)
	}
	respelt := func(old, to string) []byte {
		if !strings.Contains(text, old) {
			t.Fatal("nothing to change: " + old)
		}
		return signed(t, strings.Replace(text, old, to, 1), keys[0])
	}
	return []filterRow{
		{"valid", valid, nil},
		{"with the line of another key too", signed(t, text, keys[1], keys[0]), nil},
		{"by another key", signed(t, text, keys[1]), ErrUnknownKey},
		{"changed after it was signed", bytes.Replace(valid, []byte("size 3"), []byte("size 4"), 1), ErrSignature},
		{"a checkpoint", checkpoint, ErrFormat},
		{"of another corpus", respelt("/main", "/other"), ErrOrigin},
		{"a later version", respelt("filter/1", "filter/2"), ErrVersion},
		{"another format", respelt("arborist-filter/1", "arborist-key-rotation/1"), ErrFormat},
		{"a line more", respelt("\nsize", "\nmore\nsize"), ErrFormat},
		{"without its root", respelt("root ", "seed "), ErrFormat},
		{"lines in another order", signed(t, "arborist-filter/1\nsize 3\norigin "+f.Head.Origin+text[strings.Index(text, "\nroot"):], keys[0]), ErrFormat},
		{"a leading zero", respelt("size 3", "size 03"), ErrFormat},
		{"a sign", respelt("size 3", "size +3"), ErrFormat},
		{"two spaces", respelt("size 3", "size  3"), ErrFormat},
		{"a root of zeros", signed(t, string(FilterHead{Head: Checkpoint{Origin: f.Head.Origin, Size: 3}, Sum: f.Sum}.Text()), keys[0]), ErrFormat},
		{"a short sum", respelt("=\n", "\n"), ErrFormat},
		{"cut", valid[:len(valid)-1], ErrTruncated},
	}
}

func filterVectors(t *testing.T) (all []vector) {
	key := newCorpusKeys(t, 1)[0].Verifier().String()
	for _, row := range filterRows(t) {
		v := newVector("filter", row.name, row.note)
		v.Key = key
		all = append(all, v)
	}
	return all
}

func TestAFilterNoteHasOneSpelling(t *testing.T) {
	key := newCorpusKeys(t, 1)[0].Verifier()
	for _, row := range filterRows(t) {
		f, err := OpenFilter(row.note, key)
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if row.want == nil && f != testFilterHead(key.Name()) {
			t.Errorf("%s: %+v", row.name, f)
		}
	}
}

func TestAFilterNoteIsNoCheckpoint(t *testing.T) {
	s := newCorpusKeys(t, 1)[0]
	note, err := SignFilter(testFilterHead(s.Name()), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCheckpoint(note, s.Verifier()); !errors.Is(err, ErrFormat) {
		t.Errorf("opened as a checkpoint: %v", err)
	}
	if _, err := ParseRotation(note); err == nil {
		t.Error("it is a rotation")
	}
	if _, err := SignFilter(testFilterHead("somebody/else"), s); !errors.Is(err, ErrOrigin) {
		t.Errorf("signed for another corpus: %v", err)
	}
}

// FuzzParseFilterHead: whatever parses has this one spelling.
func FuzzParseFilterHead(f *testing.F) {
	f.Add(testFilterHead(testPeer + "/main").Text())
	f.Fuzz(func(t *testing.T, text []byte) {
		head, err := parseFilterHead(text)
		if err == nil && !bytes.Equal(head.Text(), text) {
			t.Fatalf("second spelling of %q", head.Text())
		}
		if _, err2 := ParseCheckpoint(text); err == nil && err2 == nil {
			t.Fatal("a checkpoint is one too")
		}
	})
}
