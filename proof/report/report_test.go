package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

const peer = "12D3KooWGzxzKZYveHXtpG6AsrUJBcWxHBFS2HsEoGTxrMLvKXtf"

// A fixture is a proof of a real document in a corpus, in files.
type fixture struct {
	dir, logged, apart, short, twin, passage string // file names
	key, otherKey                            string
	header                                   document.Header
	text                                     []byte
}

func newFixture(t testing.TB) fixture {
	t.Helper()
	d, err := document.New([]byte(strings.Repeat("A line of words that fills the page.\n\n", 100)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := proof.NewSigner(peer+"/main", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	other, err := proof.NewSigner(peer+"/other", [32]byte{2})
	if err != nil {
		t.Fatal(err)
	}
	path, err := merkle.Inclusion(d.Tree(), 1, uint64(d.Chunks()))
	if err != nil {
		t.Fatal(err)
	}
	short := &proof.Proof{Chunk: proof.Inclusion{Index: 1, Path: path}, Header: d.Header(), Text: d.Chunk(1)}
	r := proof.NewRecord(d.Header(), document.Location{URI: "https://example.org/\u202ea", Title: "A page", FetchedAt: time.Unix(1e9, 0)}, document.ID{})
	line, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	note, err := proof.SignCheckpoint(proof.Checkpoint{Origin: s.Name(), Size: 1, Root: merkle.LeafHash(line)}, s)
	if err != nil {
		t.Fatal(err)
	}
	logged := *short
	logged.Log = &proof.LogPart{Record: r, Note: note}
	apart := logged
	apart.Text = nil

	f := fixture{dir: t.TempDir(), key: s.Verifier().String(), otherKey: other.Verifier().String(), header: d.Header(), text: d.Chunk(1)}
	f.logged = f.write(t, "logged", text(t, &logged))
	f.apart = f.write(t, "apart", text(t, &apart))
	f.short = f.write(t, "short", text(t, short))
	f.passage = f.write(t, "passage", f.text)
	twin, err := logged.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	f.twin = f.write(t, "twin", append(twin, '\n'))
	return f
}

func text(t testing.TB, p *proof.Proof) []byte {
	b, err := p.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (f fixture) write(t testing.TB, name string, b []byte) string {
	t.Helper()
	name = filepath.Join(f.dir, name)
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func read(t testing.TB, name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// run runs the program in this process.
func run(stdin []byte, args ...string) (exit int, stdout, stderr string) {
	var out, errs bytes.Buffer
	exit = Main(args, bytes.NewReader(stdin), &out, &errs)
	return exit, out.String(), errs.String()
}

func TestEveryFaultHasItsCodeAndNextStep(t *testing.T) {
	f := newFixture(t)
	root := f.header.Root.String()
	other := document.Root{1}.String()
	tampered := f.write(t, "tampered", bytes.Replace(read(t, f.logged), []byte("words"), []byte("w0rds"), 1))
	cut := f.write(t, "cut", read(t, f.logged)[:700])
	crlf := f.write(t, "crlf", bytes.ReplaceAll(read(t, f.logged), []byte("\n"), []byte("\r\n")))
	newline := f.write(t, "newline", append(read(t, f.logged), '\n'))
	newer := f.write(t, "newer", bytes.Replace(read(t, f.logged), []byte("proof/2"), []byte("proof/3"), 1))
	sig := read(t, f.logged)
	at := bytes.Index(sig, []byte("\npassage")) - 20
	sig[at] ^= 1
	badSig := f.write(t, "badsig", sig)
	for _, row := range []struct {
		name   string
		args   []string
		exit   int
		reason string // of invalid, else the code
		hint   string // part of it
	}{
		{"tampered", []string{tampered, "--key", f.key}, 4, "tampered", "do not trust"},
		{"tampered, no key", []string{tampered}, 4, "tampered", "do not trust"},
		{"truncated", []string{cut, "--key", f.key}, 4, "truncated", "copy it again"},
		{"CRLF", []string{crlf}, 4, "malformed", "no CRLF"},
		{"newline after the end", []string{newline}, 4, "malformed", "jq -r"},
		{"newer version", []string{newer}, 4, "version", "newer arborist-verify"},
		{"bad signature", []string{badSig, "--key", f.key}, 4, "bad_signature", "ask the publisher"},
		{"unknown key", []string{f.logged, "--key", f.otherKey}, 4, "unknown_key", "corpus key NAME"},
		{"key for a short proof", []string{f.short, "--key", f.key}, 4, "not_logged", "leave out --key"},
		{"wrong root", []string{f.logged, "--root", other}, 4, "wrong_document", "compare the --root or --id"},
		{"wrong ID", []string{f.logged, "--id", other}, 4, "wrong_document", "compare the --root or --id"},
		{"root as ID", []string{f.logged, "--id", root}, 4, "wrong_document", "compare the --root or --id"},
		{"passage missing", []string{f.apart, "--key", f.key}, 4, "passage_missing", "--text FILE"},
		{"another passage", []string{f.apart, "--text", f.write(t, "another", []byte("Another passage."))}, 4, "tampered", "in the text"},
		{"not a proof", []string{f.passage}, 4, "malformed", "byte for byte"},
		{"empty file", []string{f.write(t, "empty", nil)}, 4, "truncated", "copy it again"},
		{"huge file", []string{f.write(t, "huge", make([]byte, proof.MaxFile+1))}, 4, "too_large", "not a proof file"},
		{"huge passage", []string{f.apart, "--text", f.write(t, "hugetext", make([]byte, proof.MaxPassage+1))}, 4, "too_large", ""},
		{"endless file", []string{"/dev/zero"}, 4, "too_large", ""},
		{"no such file", []string{filepath.Join(f.dir, "nothing")}, 1, "failed", "exists"},
		{"a folder", []string{f.dir}, 1, "failed", "exists"},
		{"no such passage", []string{f.apart, "--text", filepath.Join(f.dir, "nothing")}, 1, "failed", "exists"},
		{"no file", nil, 2, "usage", "name a proof file"},
		{"two files", []string{f.logged, f.short}, 2, "usage", "--help"},
		{"unknown flag", []string{f.logged, "--kez", f.key}, 2, "usage", "--help"},
		{"flag without value", []string{f.logged, "--key"}, 2, "usage", "--help"},
		{"empty key", []string{f.logged, "--key", ""}, 2, "usage", "--help"},
		{"key that is none", []string{f.logged, "--key", "abc"}, 2, "usage", "corpus key NAME"},
		{"root that is none", []string{f.logged, "--root", "abc"}, 2, "usage", "bafkrei"},
		{"ID that is none", []string{f.logged, "--id", root + "\n"}, 2, "usage", "bafkrei"},
		{"everything from stdin", []string{"-", "--text", "-"}, 2, "usage", "as a file"},
	} {
		exit, stdout, stderr := run(nil, row.args...)
		if exit != row.exit || stdout != "" || !strings.Contains(stderr, row.hint) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", row.name, exit, stdout, stderr)
		}
		exit, stdout, stderr = run(nil, append(row.args, "--json")...)
		if row.name == "flag without value" {
			continue // --json became the value
		}
		var got struct{ Error Problem }
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Errorf("%s: %v in %q", row.name, err, stdout)
		}
		code, reason := row.reason, ""
		if row.exit == 4 {
			code, reason = "invalid", row.reason
		}
		if exit != row.exit || stderr != "" || got.Error.Code != code || got.Error.Reason != reason || !strings.Contains(got.Error.Hint, row.hint) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", row.name, exit, stdout, stderr)
		}
	}
}

func TestVerifiedProofSaysWhatItShows(t *testing.T) {
	f := newFixture(t)
	id := f.header.ID().String()
	for _, row := range []struct {
		name   string
		stdin  []byte
		args   []string
		signed bool
	}{
		{"logged", nil, []string{f.logged, "--key", f.key}, true},
		{"flags first", nil, []string{"-key", f.key, "--id=" + id, f.logged}, true},
		{"flags around", nil, []string{"--root", f.header.Root.String(), f.logged, "--key", f.key}, true},
		{"after --", nil, []string{"--key", f.key, "--", f.logged}, true},
		{"stdin", read(t, f.logged), []string{"-", "--key", f.key}, true},
		{"JSON form with a line end", nil, []string{f.twin, "--key", f.key}, true},
		{"apart", nil, []string{f.apart, "--key", f.key, "--text", f.passage}, true},
		{"apart, passage from stdin", f.text, []string{f.apart, "--key", f.key, "--text", "-"}, true},
		{"logged without key", nil, []string{f.logged}, false},
		{"short", nil, []string{f.short}, false},
	} {
		exit, stdout, stderr := run(row.stdin, append([]string{"--json"}, row.args...)...)
		var got map[string]any
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || exit != 0 || stderr != "" {
			t.Errorf("%s: exit %d, %v, %q, %q", row.name, exit, err, stdout, stderr)
			continue
		}
		for _, key := range []string{"valid", "root", "chunk", "chunks", "text_sha256", "corpus", "log_size", "publisher", "statement"} {
			if _, ok := got[key]; !ok {
				t.Errorf("%s: no key %s in %s", row.name, key, stdout)
			}
		}
		want := map[string]any{"valid": true, "chunk": 1.0, "chunks": float64(f.header.Chunks), "root": f.header.Root.String(), "id": id,
			"corpus": "", "publisher": "", "log_size": 0.0, "signature_checked": row.signed}
		if row.signed {
			want["corpus"], want["publisher"], want["log_size"] = "main", peer, 1.0
		}
		for key, v := range want {
			if got[key] != v {
				t.Errorf("%s: %s is %v, want %v", row.name, key, got[key], v)
			}
		}
		exit, stdout, stderr = run(row.stdin, row.args...)
		if exit != 0 || stderr != "" || !strings.HasPrefix(stdout, "valid: ") || strings.Contains(stdout, "was in corpus main of "+peer) != row.signed {
			t.Errorf("%s: exit %d, %q, %q", row.name, exit, stdout, stderr)
		}
	}
}

// Threat 27. What a file says must not steer the terminal that shows it.
func TestNoControlCharacterReachesTheTerminal(t *testing.T) {
	f := newFixture(t)
	hostile := "\x1b]0;x\a\x9b31m\u009b2J\u202e\x7f\x00"
	p, err := proof.Parse(read(t, f.logged))
	if err != nil {
		t.Fatal(err)
	}
	valid := string(text(t, p))
	files := [][]byte{[]byte(hostile), []byte("arborist-proof/" + hostile + "\n"), []byte(`{"` + hostile + `":1}`), []byte("{\"\\u001b[2J\":1}")}
	for _, old := range []string{"chunk 1", "{\"op\":\"add\"", "c2sp.org/tlog-proof@v1", "index 0", peer, "\u2014 ", "passage ", "https://example.org/"} {
		files = append(files, []byte(strings.Replace(valid, old, old+hostile, 1)))
	}
	check := func(what, s string) {
		for _, r := range s {
			if r != '\n' && (r < ' ' || r >= 0x7f && r <= 0x9f || r == 0x202e) {
				t.Errorf("%s: %U in %q", what, r, s)
			}
		}
	}
	for _, file := range files {
		for _, args := range [][]string{{"-"}, {"-", "--json"}, {"-", "--key", f.key}} {
			exit, stdout, stderr := run(file, args...)
			if exit == 0 {
				t.Errorf("verified: %q", file)
			}
			check("stdout", stdout)
			check("stderr", stderr)
		}
	}
	_, stdout, _ := run(nil, f.logged, "--key", f.key)
	if !strings.Contains(stdout, "https://example.org/a") {
		t.Errorf("the URI is not shown, or with its control character: %q", stdout)
	}
	check("valid", stdout)
	for _, args := range [][]string{{hostile}, {f.logged, "--" + hostile}, {f.logged, "--key", hostile}, {f.logged, "--root", hostile}} {
		_, stdout, stderr := run(nil, args...)
		check("stdout of arguments", stdout)
		check("stderr of arguments", stderr)
	}
}

func TestHelpIsAnAnswer(t *testing.T) {
	for _, flag := range []string{"-h", "--help"} {
		exit, stdout, stderr := run(nil, flag)
		if exit != 0 || stderr != "" || !strings.Contains(stdout, "usage: arborist-verify") {
			t.Errorf("%s: %d, %q, %q", flag, exit, stdout, stderr)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

// A result that nobody received is no success.
func TestUnwrittenResultFails(t *testing.T) {
	f := newFixture(t)
	var errs bytes.Buffer
	if exit := Main([]string{f.logged}, nil, brokenWriter{}, &errs); exit != 1 || errs.Len() == 0 {
		t.Errorf("exit %d, %q", exit, errs.String())
	}
}
