// Package report is what the verb "verify" of both programs shares: reading
// the files, checking the proof, and saying the result to a person or to a
// program.
//
// It guarantees that a proof which does not verify never gives exit code 0,
// that an error is one line that names the next step, and that nothing taken
// from a file reaches a terminal with control characters in it. It opens the
// files that it is told to open and nothing else: no store, no network.
package report

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"arborist/document"
	"arborist/proof"
)

// Options are the arguments and flags of the verb.
type Options struct {
	File string   // proof file or bundle, "-" for standard input
	Keys []string // verifier keys of corpora; empty: no corpus is checked
	// Rotations file of the corpus's key; empty: the key alone counts.
	Rotations string
	Root      string // root that the document must have; empty: any
	ID        string // document ID that the document must have; empty: any
	Text      string // file with the passage, where the proof does not hold it; empty: none
	Evidence  string // evidence file in place of a proof, "-" for standard input; empty: none
	JSON      bool   // one JSON object instead of lines for a person
	// Witnesses are the verifier keys of witnesses, Quorum how many of them
	// must have cosigned; empty: all.
	Witnesses []string
	Quorum    string
}

// A Result is what a verified proof shows. The JSON keys of the verb's contract
// (docs/cli.md) are always there; corpus, log_size, log_index and publisher are zero
// where no signature was checked.
type Result struct {
	Valid            bool   `json:"valid"`
	Root             string `json:"root"`
	ID               string `json:"id"`
	Chunk            uint64 `json:"chunk"` // index, from 0
	Chunks           uint64 `json:"chunks"`
	TextSHA256       string `json:"text_sha256"`
	Corpus           string `json:"corpus"`
	LogSize          uint64 `json:"log_size"`
	LogIndex         uint64 `json:"log_index"` // of the record that listed the document, from 0
	Publisher        string `json:"publisher"`
	SignatureChecked bool   `json:"signature_checked"`
	URI              string `json:"uri,omitempty"`             // from the signed record
	Title            string `json:"title,omitempty"`           // from the signed record
	Fetched          string `json:"fetched,omitempty"`         // from the signed record, RFC 3339
	KeyReplacedAt    uint64 `json:"key_replaced_at,omitempty"` // size of the log when the key that signed was replaced
	KeySuccessor     bool   `json:"key_successor,omitempty"`   // the key that signed is a later one than the key given
	Statement        string `json:"statement"`
	// Cosignatures are those of the witnesses named, OtherSignatures counts the
	// lines of the checkpoint by keys not named.
	Cosignatures    []Cosignature `json:"cosignatures"`
	OtherSignatures int           `json:"other_signatures"`
}

// A Cosignature is the word of one witness, verified.
type Cosignature struct {
	Name string `json:"name"`
	Time string `json:"time"` // by the witness's clock, RFC 3339; beyond the year 9999 "@" and seconds since 1970
}

// NewResult puts a claim into the form that the verb prints.
func NewResult(c proof.Claim) Result {
	r := Result{
		Valid: true,
		Root:  c.Root.String(), ID: c.ID.String(),
		Chunk: c.Chunk, Chunks: c.Chunks,
		TextSHA256: hex.EncodeToString(c.TextSHA256[:]),
		Corpus:     c.Corpus, LogSize: c.LogSize, LogIndex: c.LogIndex, Publisher: c.Publisher,
		SignatureChecked: c.SignatureChecked,
		KeyReplacedAt:    c.KeyReplacedAt, KeySuccessor: c.KeySuccessor,
		Statement:    c.Statement(),
		Cosignatures: []Cosignature{}, OtherSignatures: c.OtherSignatures,
	}
	for _, w := range c.Cosignatures {
		r.Cosignatures = append(r.Cosignatures, Cosignature{Name: w.Name, Time: w.Time()})
	}
	if c.SignatureChecked {
		r.URI, r.Title = c.Record.URI, c.Record.Title
		r.Fetched = c.Record.FetchedAt.Format(time.RFC3339)
	}
	return r
}

// Run does the whole verb and returns the exit code: 0 verified, 1 a file
// cannot be read, 2 bad arguments, 4 not verified. The answer goes to stdout,
// errors to stderr or, with o.JSON, to stdout.
func Run(o Options, stdin io.Reader, stdout, stderr io.Writer) int {
	if o.Evidence != "" {
		return runEvidence(o, stdin, stdout, stderr)
	}
	print, err := o.check(stdin)
	if err != nil {
		return Fail(err, o.JSON, stdout, stderr)
	}
	if err := print(stdout); err != nil {
		return Fail(err, false, stdout, stderr)
	}
	return 0
}

// check reads what o names, verifies it, and returns what prints the result.
// [Describe] explains its errors.
func (o Options) check(stdin io.Reader) (print func(io.Writer) error, err error) {
	e, keys, err := o.expect()
	if err != nil {
		return nil, err
	}
	file, err := readFile(o.File, proof.MaxBundle, stdin)
	if err != nil {
		return nil, err
	}
	if proof.IsBundle(file) {
		r, err := o.checkBundle(file, e, keys)
		return func(w io.Writer) error { return PrintBundle(w, r, o.JSON) }, err
	}
	c, err := o.checkProof(file, e, keys, stdin)
	return func(w io.Writer) error { return Print(w, NewResult(c), o.JSON) }, err
}

// Check reads what o names and verifies it as the proof of one passage, which a
// bundle is not. [Describe] explains its errors.
func Check(o Options, stdin io.Reader) (proof.Claim, error) {
	e, keys, err := o.expect()
	if err != nil {
		return proof.Claim{}, err
	}
	file, err := readFile(o.File, proof.MaxFile, stdin)
	if err != nil {
		return proof.Claim{}, err
	}
	return o.checkProof(file, e, keys, stdin)
}

func (o Options) checkProof(file []byte, e proof.Expect, keys []*proof.Verifier, stdin io.Reader) (c proof.Claim, err error) {
	if o.Text != "" {
		if e.Text, err = readPassage(o.Text, stdin); err != nil {
			return c, err
		}
	}
	if o.Rotations != "" && len(keys) > 1 {
		return c, usage("--rotations with several keys", "pass one key of the corpus that you know: the rotations name the others")
	}
	if o.Rotations != "" {
		if e.Rotations, err = readRotations(o.Rotations); err != nil {
			return c, err
		}
	}
	p, err := proof.Parse(cutLineEnd(file))
	if err != nil {
		return c, of(o.File, wrongKind(err, "proof", file))
	}
	if c, err = verifyWithKeys(p, e, keys); err != nil && o.Text != "" {
		err = lineEnds(err, e.Text, func(text []byte) error {
			other := e
			other.Text = text
			_, err := verifyWithKeys(p, other, keys)
			return err
		})
		err = wrongKind(err, "passage", e.Text)
		err = fmt.Errorf("with --text %s: %w", label(o.Text), err) // either can be the wrong one
	}
	return c, of(o.File, err)
}

// expect parses the flags that say what the file has to show.
func (o Options) expect() (e proof.Expect, keys []*proof.Verifier, err error) {
	if o.File == "" {
		return e, nil, usage("no proof file named", "name a proof file, or - for standard input")
	}
	if o.File == "-" && o.Text == "-" {
		return e, nil, usage("both the proof and --text are standard input", "give one of them as a file")
	}
	if o.Rotations != "" && len(o.Keys) == 0 {
		return e, nil, usage("--rotations without --key", "pass one key of the corpus that you know: rotations alone vouch for nothing")
	}
	for _, text := range o.Keys {
		key, err := proof.ParseVerifier(text)
		if err != nil {
			return e, nil, usage("--key: "+err.Error(), "pass the line that `arborist corpus key NAME` prints, as one argument in quotes")
		}
		keys = append(keys, key)
	}
	if len(keys) > 0 {
		e.Key = keys[0] // each of them has its turn in verifyWithKeys
	}
	if err := o.expectWitnesses(&e); err != nil {
		return e, nil, err
	}
	if o.Root != "" {
		root, err := document.ParseRoot(o.Root)
		if err != nil {
			return e, nil, usage("--root: "+err.Error(), "pass the document's root, 59 characters that start with bafkrei")
		}
		e.Root = &root
	}
	if o.ID != "" {
		id, err := document.ParseID(o.ID)
		if err != nil {
			return e, nil, usage("--id: "+err.Error(), "pass the document's ID, 59 characters that start with bafkrei")
		}
		e.ID = &id
	}
	return e, keys, nil
}

// cutLineEnd takes off the one newline that programs put after a JSON object.
// It is no part of the JSON form; the text form has no such freedom.
func cutLineEnd(file []byte) []byte {
	if n := len(file); n > 1 && file[0] == '{' && file[n-2] == '}' && file[n-1] == '\n' {
		return file[:n-1]
	}
	return file
}

// Print writes the result to w, as one JSON object or as lines for a person.
func Print(w io.Writer, r Result, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "valid: %s\n", r.Statement)
	fmt.Fprintf(&b, "  passage  SHA-256 %s\n", r.TextSHA256)
	fmt.Fprintf(&b, "  document ID %s\n", r.ID)
	if r.SignatureChecked {
		fmt.Fprintf(&b, "  listed   %s, fetched %s\n", r.URI, r.Fetched)
		if r.Title != "" {
			fmt.Fprintf(&b, "  title    %s\n", r.Title)
		}
	}
	for _, w := range r.Cosignatures {
		fmt.Fprintf(&b, "  cosigned %s, by %s\n", w.Time, w.Name)
	}
	if _, err := io.WriteString(w, Printable(b.String())); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

func printJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// Printable returns s without the characters that steer a terminal or hide
// text: C0 but the newline, DEL, C1, and the controls of writing direction.
// Bytes that are not UTF-8 become U+FFFD.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r < ' ', r >= 0x7f && r <= 0x9f,
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
			return -1
		}
		return r
	}, s)
}

// A usageError is a fault in the arguments.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

func usage(message, hint string) error { return &usageError{message, hint} }

// Usage returns the error for arguments that the verb cannot take.
func Usage(message string) error {
	return usage(message, "see --help")
}

func isUsage(err error) (*usageError, bool) {
	var u *usageError
	ok := errors.As(err, &u)
	return u, ok
}
