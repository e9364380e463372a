package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"arborist/proof"
)

// bundle writes a bundle of a logged hit and one in no corpus, in both forms.
func (f fixture) bundle(t *testing.T) (name, twin string) {
	t.Helper()
	var proofs []*proof.Proof
	for _, file := range []string{f.logged, f.short} {
		p, err := proof.Parse(read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		proofs = append(proofs, p)
	}
	b, err := proof.NewBundle(proofs)
	if err != nil {
		t.Fatal(err)
	}
	text, err := b.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := b.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return f.write(t, "bundle", text), f.write(t, "bundle.json", append(asJSON, '\n'))
}

func TestVerifiedBundleSaysWhatEachHitShows(t *testing.T) {
	f := newFixture(t)
	name, twin := f.bundle(t)
	for _, row := range []struct {
		name    string
		stdin   []byte
		args    []string
		checked bool
	}{
		{"key", nil, []string{name, "--key", f.key}, true},
		{"key twice", nil, []string{name, "--key", f.key, "--key", f.key}, true},
		{"JSON form", nil, []string{twin, "--key", f.key}, true},
		{"stdin", read(t, name), []string{"-", "--key", f.key}, true},
		{"no key", nil, []string{name}, false},
	} {
		exit, stdout, stderr := run(row.stdin, append(row.args, "--json")...)
		var got BundleResult
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || exit != 0 || stderr != "" || !got.Valid || len(got.Hits) != 2 || len(got.Corpora) != 1 {
			t.Errorf("%s: exit %d, %v, %q, %q", row.name, exit, err, stdout, stderr)
			continue
		}
		// The first hit says what its single proof says, and its rank.
		_, single, _ := run(nil, append([]string{"--json", f.logged}, row.args[1:]...)...)
		var want Result
		if err := json.Unmarshal([]byte(single), &want); err != nil {
			t.Fatal(err)
		}
		want.Statement = strings.Replace(want.Statement, "; pass --root to compare the document with one that you know", "", 1)
		if !reflect.DeepEqual(got.Hits[0], HitResult{1, want}) || got.Hits[1].Rank != 2 || got.Hits[1].SignatureChecked {
			t.Errorf("%s: %+v", row.name, got.Hits)
		}
		if c := got.Corpora[0]; c != (CorpusResult{peer + "/main", "main", peer, 1, 1, row.checked}) {
			t.Errorf("%s: %+v", row.name, c)
		}
		exit, stdout, stderr = run(row.stdin, row.args...)
		lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
		if exit != 0 || stderr != "" || len(lines) != 4 || !strings.HasPrefix(lines[0], "1. ") || !strings.HasPrefix(lines[1], "2. ") ||
			strings.Contains(lines[2], "NOT checked") == row.checked || !strings.HasPrefix(lines[3], "valid: all 2 hits; ") || strings.Contains(stdout, "--root") {
			t.Errorf("%s: exit %d, %q, %q", row.name, exit, stdout, stderr)
		}
	}
}

func TestEveryFaultOfABundleHasItsCode(t *testing.T) {
	f := newFixture(t)
	name, _ := f.bundle(t)
	tampered := f.write(t, "tampered", bytes.Replace(read(t, name), []byte("words"), []byte("w0rds"), 1))
	root := f.header.Root.String()
	for _, row := range []struct {
		name   string
		args   []string
		exit   int
		reason string
	}{
		{"tampered", []string{tampered, "--key", f.key}, 4, "tampered"},
		{"cut", []string{f.write(t, "cut", read(t, name)[:900])}, 4, "truncated"},
		{"line end after it", []string{f.write(t, "more", append(read(t, name), '\n'))}, 4, "malformed"},
		{"newer", []string{f.write(t, "newer", bytes.Replace(read(t, name), []byte("bundle/1"), []byte("bundle/2"), 1))}, 4, "version"},
		{"key of another corpus", []string{name, "--key", f.otherKey}, 4, "unknown_key"},
		{"key of another corpus too", []string{name, "--key", f.key, "--key", f.otherKey}, 4, "unknown_key"},
		{"huge", []string{f.write(t, "huge", append(read(t, name), make([]byte, proof.MaxBundle)...))}, 4, "too_large"},
		{"--root", []string{name, "--root", root}, 2, ""},
		{"--id", []string{name, "--id", f.header.ID().String()}, 2, ""},
		{"--rotations", []string{name, "--key", f.key, "--rotations", f.passage}, 4, "bad_rotations"},
		{"--rotations without --key", []string{name, "--rotations", f.passage}, 2, ""},
		{"--text", []string{name, "--text", f.passage}, 2, ""},
		{"a key that is none", []string{name, "--key", f.key, "--key", "x"}, 2, ""},
	} {
		exit, stdout, stderr := run(nil, row.args...)
		if exit != row.exit || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, %q", row.name, exit, stdout, stderr)
		}
		exit, stdout, _ = run(nil, append(row.args, "--json")...)
		var got struct{ Error Problem }
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || exit != row.exit || got.Error.Reason != row.reason || got.Error.Hint == "" {
			t.Errorf("%s: exit %d, %q, %v", row.name, exit, stdout, err)
		}
	}
}

// A single proof may be checked with any of several keys, but with one it is.
func TestSeveralKeysForOneProof(t *testing.T) {
	f := newFixture(t)
	for _, keys := range [][]string{{f.otherKey, f.key}, {f.key, f.otherKey}} {
		if exit, stdout, stderr := run(nil, f.logged, "--key", keys[0], "--key", keys[1]); exit != 0 || !strings.Contains(stdout, "was in corpus main") {
			t.Errorf("exit %d, %q, %q", exit, stdout, stderr)
		}
	}
	if exit, _, stderr := run(nil, f.logged, "--key", f.otherKey, "--key", f.otherKey); exit != 4 || !strings.Contains(stderr, "corpus key NAME") {
		t.Errorf("two keys of another corpus: exit %d, %q", exit, stderr)
	}
	if exit, _, _ := run(nil, f.short, "--key", f.otherKey, "--key", f.key); exit != 4 {
		t.Errorf("two keys for a proof of no corpus: exit %d", exit)
	}
}
