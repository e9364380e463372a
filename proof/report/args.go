package report

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

const help = `arborist-verify checks a proof file, or a bundle: the proof of all hits of a query.
It needs no store and no network.

usage: arborist-verify [flags] FILE        ("-" reads standard input)
       arborist-verify --evidence FILE --key VKEY [--rotations FILE]

  --key VKEY    verifier key of the corpus; without it no corpus is checked.
                May be repeated: for a bundle of several corpora, or to take any
                of several keys. Each key must be of a corpus of the bundle
  --rotations FILE
                rotations of the corpus's key: proofs count that another key of
                the chain signed while it was the corpus's
  --root ROOT   the document's root must be this one
  --id ID       the document's ID must be this one; unlike a root it also
                fixes the number of chunks and their places
  --text FILE   the passage, where the proof does not hold it
  --witness VKEY  key of a witness that must have cosigned the corpus's head;
                may be given more than once, and only with --key
  --quorum N    how many of the witnesses must have; without it all of them
  --evidence FILE
                in place of a proof: two signed heads or rotations of a key,
                as a store keeps them against whoever signed both; proves
                nothing without --key, takes --rotations
  --json        one JSON object, errors too

Of a bundle, --rotations are of one of its corpora, and the witnesses must have
cosigned the head of each corpus that has a key. --root, --id and --text are for
proofs of one passage, not for bundles.

exit codes: 0 verified, 1 a file cannot be read, 2 usage, 4 not verified
limits: 4 MiB for a proof, 16 MiB for a bundle, 1 MiB for the passage
`

// A FlagSet is what [Options.AddFlags] needs: [flag.FlagSet] is one, and the
// flag sets of cobra are.
type FlagSet interface {
	Func(name, usage string, fn func(string) error)
}

// AddFlags adds the flags that say what a proof must show. A flag that is given
// but empty is an error: a variable that is empty by mistake, or a command that
// failed inside --key "$(…)", must not turn a check off.
func (o *Options) AddFlags(fs FlagSet) {
	each := func(name, usage string, take func(string)) {
		fs.Func(name, usage, func(s string) error {
			if s == "" {
				return errors.New("it is empty")
			}
			take(s)
			return nil
		})
	}
	add := func(name, usage string, value *string) { each(name, usage, func(s string) { *value = s }) }
	each("key", "verifier `key` of the corpus, as arborist corpus key prints it, once for each corpus of a bundle; without it no corpus is checked",
		func(s string) { o.Keys = append(o.Keys, s) })
	add("rotations", "`file` with the rotations of the corpus's key, as arborist corpus rotations prints them: proofs signed by an older or a newer key count", &o.Rotations)
	add("root", "the `root` that the document must have", &o.Root)
	add("id", "the document `ID` that it must have; unlike a root it also fixes the places of chunks", &o.ID)
	fs.Func("witness", "verifier `key` of a witness that must have cosigned, as arborist peer witness-key prints it; may be repeated, needs --key", func(s string) error {
		if s == "" {
			return errors.New("it is empty")
		}
		o.Witnesses = append(o.Witnesses, s)
		return nil
	})
	add("quorum", "`number` of the witnesses that must have cosigned; without it all", &o.Quorum)
	add("text", "`file` with the passage, where the proof does not hold it", &o.Text)
	add("evidence", "evidence `file`, in place of a proof: two signed heads of one corpus; proves nothing without --key", &o.Evidence)
}

// Main is the program arborist-verify: it parses its arguments and runs the
// verb. Flags may stand before and after the file.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseArgs(args)
	if errors.Is(err, flag.ErrHelp) {
		io.WriteString(stdout, help)
		return 0
	}
	if err != nil {
		return Fail(err, o.JSON, stdout, stderr)
	}
	return Run(o, stdin, stdout, stderr)
}

func parseArgs(args []string) (o Options, err error) {
	fs := flag.NewFlagSet("arborist-verify", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.AddFlags(fs)
	fs.BoolVar(&o.JSON, "json", false, "")
	var files []string
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return o, err
			}
			o.JSON = o.JSON || wantsJSON(args)
			return o, Usage(err.Error())
		}
		// Parse stops at the first argument that is no flag; after "--" all
		// that follows are files.
		rest := fs.Args()
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			files = append(files, rest...)
			break
		}
		if len(rest) > 0 {
			files = append(files, rest[0])
			rest = rest[1:]
		}
		args = rest
	}
	switch {
	case len(files) > 1:
		return o, Usage(fmt.Sprintf("%d files named, want one", len(files)))
	case len(files) == 1:
		o.File = files[0]
	}
	return o, nil
}

// wantsJSON reports whether --json stands anywhere: an error in another flag
// should still be told in the form that was asked for.
func wantsJSON(args []string) bool {
	for _, a := range args {
		if a == "--json" || a == "-json" {
			return true
		}
	}
	return false
}
