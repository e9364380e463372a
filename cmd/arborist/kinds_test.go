package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"arborist/daemon/api"
)

// eachVerb calls fn with every verb of the command line.
func eachVerb(fn func(words []string, cmd *cobra.Command)) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if !cmd.HasSubCommands() && cmd.Name() != "help" {
			fn(strings.Fields(cmd.CommandPath())[1:], cmd)
		}
	}
	walk((&app{}).rootCommand())
}

// wantError runs a command line, in both forms, and demands the exit code, an
// error that names all of the words, and a next step. Nothing is answered.
func wantError(t *testing.T, home string, args []string, exit int, words ...string) {
	t.Helper()
	code, stdout, stderr := cli(t, home, args...)
	told := strings.Contains(stderr, "\nnext: ") || strings.Contains(stderr, "; ") // of verify: one line
	if code != exit || stdout != "" || !told {
		t.Errorf("%q: exit code %d, want %d and a next step; %q, %q", args, code, exit, stdout, stderr)
	}
	for _, w := range words {
		if !strings.Contains(stderr, w) {
			t.Errorf("%q: %q is not in %q", args, w, stderr)
		}
	}
	for _, leak := range []string{"strconv", ".arborist-"} {
		if strings.Contains(stderr, leak) {
			t.Errorf("%q: %q", args, stderr)
		}
	}
	code, stdout, _ = cli(t, home, append([]string{"--json"}, args...)...)
	var got struct{ Error api.Error }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exit || got.Error.Hint == "" {
		t.Errorf("%q --json: exit code %d, %v, %s", args, code, err, stdout)
	}
}

// Every flag that takes a number takes it in one spelling, and says which flag
// it was and what it takes.
func TestEveryNumberHasOneSpelling(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	cli(t, home, "init", "--shards", "1")
	flags := 0
	eachVerb(func(words []string, cmd *cobra.Command) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			switch f.Value.Type() {
			case "int", "uint", "int64", "uint64", "uint16", "float64", "count":
				t.Errorf("--%s of %q reads numbers in more than one spelling: see numberVar", f.Name, words)
			case "number":
				flags++
				for _, bad := range []string{"", "x", "03", "+3", "-1", "1_0", "0x1f", "1e1", "3 ", "1.0", "99999999999999999999"} {
					wantError(t, home, append(words, "--"+f.Name+"="+bad), 2, `"--`+f.Name+`" flag: want a whole number from `)
				}
			case "rate":
				for _, bad := range []string{"", "x", "0", "-1", "+1", "02", "1.50", "1e1", "NaN", "Inf", "0x1p1", "1_0", "99999"} {
					wantError(t, home, append(words, "--"+f.Name+"="+bad), 2, `"--`+f.Name+`" flag: want a number above 0`)
				}
			}
		})
	})
	if flags < 7 {
		t.Errorf("only %d flags", flags)
	}
	wantError(t, home, []string{"query", "x", "--limit", "0"}, 2, "--limit", "from 1 to 1000")
	wantError(t, home, []string{"corpus", "show", "main", "--at", "0", "--limit", "0"}, 2, "--limit", "from 1 to")
	const root = "bafkreif6ko2p22cdlxyc4vjlynq5lgmj4f7h47bfdi5obsqjsq2tvtccce"
	for _, bad := range []string{"03", "+3", "x", "0x1", "1_0", "99999999999999999999"} {
		wantError(t, home, []string{"prove", root, bad}, 2, `"`+bad+`"`)
	}
}

// A variable that is not set must not turn into "all", "the default" or "the
// folder that I am in".
func TestNothingGivenIsEmpty(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	cli(t, home, "init", "--shards", "1")
	t.Chdir(t.TempDir())
	eachVerb(func(words []string, cmd *cobra.Command) {
		var least []string // as many arguments as the verb needs
		for len(least) < 3 && cmd.Args(cmd, least) != nil {
			least = append(least, "x")
		}
		for i := range least {
			args := append([]string{}, least...)
			args[i] = ""
			if words[0] == "verify" || words[0] == "help" || words[0] == "completion" {
				continue // has its own words for it
			}
			wantError(t, home, append(append([]string{}, words...), args...), 2, "is empty")
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind != "string" && kind != "stringArray" {
				return
			}
			code, stdout, stderr := cli(t, home, append(append(append([]string{}, words...), least...), "--"+f.Name+"=")...)
			if code != 2 || stdout != "" || !strings.Contains(stderr, "--"+f.Name+" is empty") {
				t.Errorf("%q --%s=: exit code %d, %q, %q", words, f.Name, code, stdout, stderr)
			}
		})
	})
}

// Whatever file a verb is given: if it cannot be used, the error names it and
// says what to do, and it comes before the answer.
func TestEveryFileIsNamedInItsError(t *testing.T) {
	dir := t.TempDir()
	home, doc := filepath.Join(dir, "home"), filepath.Join(dir, "a.md")
	garbage, folder, nowhere, below := filepath.Join(dir, "garbage"), filepath.Join(dir, "folder"), filepath.Join(dir, "no", "file"), filepath.Join(doc, "file")
	for name, text := range map[string]string{doc: "Granite is a rock.", garbage: "garbage"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	cli(t, home, "init", "--shards", "1")
	if code, _, stderr := cli(t, home, "add", doc); code != 0 {
		t.Fatal(stderr)
	}
	_, hits, _ := cli(t, home, "--json", "query", "granite")
	var found api.QueryResult
	if err := json.Unmarshal([]byte(hits), &found); err != nil || len(found.Hits) != 1 {
		t.Fatal(hits, err)
	}
	root := found.Hits[0].Root.String()
	proof := filepath.Join(dir, "a.proof")
	if code, _, stderr := cli(t, home, "prove", root, "0", "-o", proof); code != 0 || !strings.Contains(stderr, "--key \"$(arborist corpus key 12D3KooW") {
		t.Fatal(stderr)
	}
	cli(t, home, "corpus", "key", "main", "--rotate")
	_, key, _ := cli(t, home, "corpus", "key", "main")
	key = strings.TrimSpace(key)

	const file = "FILE"
	for _, row := range []struct {
		args                     []string
		none, isFolder, isBadOne int // exit codes where nothing, a folder, garbage is there; -1: not asked (it is written then)
	}{
		{[]string{"verify", file}, 1, 1, 4},
		{[]string{"verify", file, "--key", key}, 1, 1, 4},
		{[]string{"verify", proof, "--text", file}, 1, 1, 4},
		{[]string{"verify", proof, "--key", key, "--rotations", file}, 1, 1, 4},
		{[]string{"verify", "--evidence", file, "--key", key}, 1, 1, 4},
		{[]string{"prove", root, "0", "-o", file}, 1, 2, -1},
		{[]string{"prove", root, "0", "--text", file}, 1, 2, -1},
		{[]string{"query", "granite", "--bundle", file}, 1, 2, -1},
		{[]string{"corpus", "rotations", "main", "-o", file}, 1, 2, -1},
		{[]string{"attach", file}, 1, -1, 4},
	} {
		for _, is := range []struct {
			file string
			exit int
		}{{nowhere, row.none}, {below, row.none}, {folder, row.isFolder}, {garbage, row.isBadOne}} {
			if is.exit < 0 {
				continue
			}
			args := append([]string{}, row.args...)
			for i := range args {
				if args[i] == file {
					args[i] = is.file
				}
			}
			wantError(t, home, args, is.exit, is.file)
		}
		if row.isBadOne < 0 { // what is written: "-" is no file
			args := slices.Clone(row.args)
			args[slices.Index(args, file)] = "-"
			wantError(t, home, args, 2, `"-"`, "./-")
		}
	}
	for _, args := range [][]string{
		{"verify", "/dev/zero"},
		{"verify", proof, "--text", "/dev/zero"},
		{"verify", proof, "--key", key, "--rotations", "/dev/zero"},
		{"verify", "--evidence", "/dev/zero", "--key", key},
	} {
		wantError(t, home, args, 4, `"/dev/zero": `, "too large")
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".arborist-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// Addresses, names and ranges that are none come with a next step too.
func TestEveryUsageErrorHasANextStep(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	cli(t, home, "init", "--shards", "1")
	for _, row := range []struct {
		args []string
		exit int
	}{
		{[]string{"peer", "sync", "nonsense", "main"}, 2},
		{[]string{"peer", "sync", "http://user:word@example.org/", "main"}, 2},
		{[]string{"peer", "join", "nonsense"}, 2},
		{[]string{"peer", "corpora", "nonsense"}, 2},
		{[]string{"corpus", "create", "No Name"}, 2},
		{[]string{"crawl", "--seed-url", "nonsense"}, 2},
		{[]string{"corpus", "show", "main", "--at", "9"}, 2},
		{[]string{"corpus", "key", "nonsense"}, 1},
		{[]string{"init", "--shards", "3"}, 2},
	} {
		wantError(t, home, row.args, row.exit)
	}
}
