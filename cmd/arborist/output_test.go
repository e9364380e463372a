package main

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	_ "github.com/mattn/go-sqlite3"
)

// cli runs one command line on a home and returns what it said.
func cli(t *testing.T, home string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &err}
	code = a.run(t.Context(), append([]string{"--home", home}, args...))
	return code, out.String(), err.String()
}

// TestTextNeverDrivesTheTerminal: whatever stands in documents, names, URLs
// and errors, no control character but newline and tab is printed.
func TestTextNeverDrivesTheTerminal(t *testing.T) {
	const evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202egnp.exe\r\x00"
	got := clean("a\tb\n" + evil)
	for _, r := range got {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u202e' {
			t.Errorf("%q is left in %q", r, got)
		}
	}
	if !strings.HasPrefix(got, "a\tb\n") || !strings.Contains(got, "gnp.exe") {
		t.Errorf("plain text was lost: %q", got)
	}

	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	docs := filepath.Join(dir, "d")
	if err := os.Mkdir(docs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "a\x1b[2Jb.md"), []byte("# Granite "+evil+"\n\nText "+evil), 0o600); err != nil {
		t.Fatal(err)
	}
	cli(t, home, "init")
	for _, args := range [][]string{
		{"add", docs}, {"query", "granite"}, {"query", "nothing" + evil}, {"history", "x" + evil}, {"show", evil},
		{"add", "no" + evil}, {"corpus", "create", evil}, {"crawl", "--seed-url", "http://" + evil}, {evil},
	} {
		_, stdout, stderr := cli(t, home, args...)
		for _, r := range stdout + stderr {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u202e' {
				t.Errorf("%q: %q was printed: %q %q", args, r, stdout, stderr)
				break
			}
		}
	}
}

// TestDamagedForeignFileIsRefusedAndSaid: the other files answer, and the exit
// code says that the answer is not the whole.
func TestDamagedForeignFileIsRefusedAndSaid(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
	for home, text := range map[string]string{ours: "Our granite.", theirs: "Their granite."} {
		doc := filepath.Join(dir, filepath.Base(home)+".md")
		if err := os.WriteFile(doc, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cli(t, home, "init", "--shards", "1")
		if code, _, stderr := cli(t, home, "add", doc); code != 0 {
			t.Fatal(stderr)
		}
	}
	file := filepath.Join(theirs, "shards", "00.db")
	if code, out, _ := cli(t, ours, "query", "granite", "--include-shard", file); code != 0 || !strings.Contains(out, "Their granite") {
		t.Fatalf("whole file: exit code %d, %s", code, out)
	}
	db, err := sql.Open("sqlite3", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE texts SET data = CAST(x'010e00' || 'Their granite!' AS BLOB); PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := cli(t, ours, "query", "granite", "--include-shard", file)
	if code != 3 || !strings.Contains(stderr, "refused: "+file) {
		t.Errorf("damaged file: exit code %d, stderr %q", code, stderr)
	}
	if !strings.Contains(out, "Our granite") || strings.Contains(out, "Their granite") {
		t.Errorf("damaged file: %s", out)
	}
}

// The same command again would fetch all of a crawl anew.
func TestAnInterruptSaysHowToGoOn(t *testing.T) {
	for args, want := range map[string]string{
		"crawl --seed-url http://127.0.0.1:1/ --ingest": "--resume",
		"crawl --seed-url http://127.0.0.1:1/":          "nothing is kept",
		"add .":                                         "run the command again",
	} {
		var out, stderr bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &stderr}
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		code := a.run(ctx, append([]string{"--home", t.TempDir()}, strings.Fields(args)...))
		if code != 130 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q", args, code, stderr.String())
		}
	}
}
