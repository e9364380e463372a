package report

import (
	"errors"
	"fmt"
	"io"

	"arborist/proof"
)

// Exit codes of the verb.
const (
	ExitFailed  = 1 // a file cannot be read
	ExitUsage   = 2
	ExitInvalid = 4 // the proof does not verify
)

// errRotationFile: the file given with --rotations, not the proof, is bad.
var errRotationFile = errors.New("not a rotations file")

// A Problem is an error in the words of the command line.
type Problem struct {
	Exit    int    `json:"-"`
	Code    string `json:"code"`             // failed, usage or invalid
	Message string `json:"message"`          // what is wrong, one line
	Hint    string `json:"hint"`             // the next step
	Reason  string `json:"reason,omitempty"` // of invalid: which kind, for programs
}

// reasons lists the kinds of invalid, the most telling first: an error may
// wrap several.
func reasons() []struct {
	err          error
	reason, hint string
} {
	return []struct {
		err          error
		reason, hint string
	}{
		{errRotationFile, "bad_rotations", "the rotations file is not as the publisher wrote it: ask for it again (arborist corpus rotations NAME)"},
		{proof.ErrRotation, "key_replaced", "do not trust this proof unless the corpus's present key has signed it: ask the publisher for a fresh one"},
		{proof.ErrOtherKey, "unknown_key", "if the corpus has changed its key, pass its rotations with --rotations FILE (its publisher prints them with: arborist corpus rotations NAME); otherwise pass the right key (arborist corpus key NAME)"},
		{ErrUnchecked, "key_missing", "pass --key with the verifier key of the corpus (arborist corpus key NAME prints it)"},
		{proof.ErrNoPassage, "passage_missing", "the passage is kept apart from this proof: pass its file with --text FILE"},
		{proof.ErrNotLogged, "not_logged", "this file binds passages to documents only: leave out --key, or ask for a proof from the corpus (prove --corpus NAME)"},
		{proof.ErrWitness, "not_cosigned", "ask for a newer proof, when the witnesses have seen the corpus's head, or lower --quorum to what you can live with"},
		{proof.ErrOrigin, "other_corpus", "pass the key of the corpus that the proof names"},
		{proof.ErrUnknownKey, "unknown_key", "pass the key of the corpus that the proof names (its publisher prints it with: arborist corpus key NAME)"},
		{proof.ErrSignature, "bad_signature", "do not trust this file; ask the publisher for the proof again"},
		{proof.ErrDocument, "wrong_document", "the proof may be sound, but it is of another document than you expected: compare the --root or --id that you passed with where you have it from"},
		{proof.ErrTruncated, "truncated", "the file was cut off: copy it again"},
		{proof.ErrVersion, "version", "get a newer arborist-verify; a proof of an older format has to be made again"},
		{proof.ErrTooLarge, "too_large", "this is not a proof file, or not one that an honest program makes"},
		{proof.ErrTampered, "tampered", "something was changed after it was proven, in the file or in the text: do not trust it; ask for the proof again"},
		{proof.ErrFormat, "malformed", "the file must be byte for byte as the prover wrote it: no added line end (jq -r adds one), no CRLF, no re-formatting"},
	}
}

// Describe says what an error of this verb means and what to do about it.
func Describe(err error) Problem {
	p := Problem{Exit: ExitFailed, Code: "failed", Message: oneLine(err.Error()), Hint: "check that the file exists and can be read"}
	if u, ok := isUsage(err); ok {
		p.Exit, p.Code, p.Hint = ExitUsage, "usage", u.hint
		return p
	}
	for _, r := range reasons() {
		if errors.Is(err, r.err) {
			p.Exit, p.Code, p.Reason, p.Hint = ExitInvalid, "invalid", r.reason, r.hint
			var e *ofEvidence
			if hint := evidenceHint(r.reason); hint != "" && errors.As(err, &e) {
				p.Hint = hint
			}
			var h *hinted
			if errors.As(err, &h) {
				p.Hint = h.hint
			}
			break
		}
	}
	return p
}

// Fail prints an error and returns its exit code.
func Fail(err error, asJSON bool, stdout, stderr io.Writer) int {
	p := Describe(err)
	if asJSON {
		printJSON(stdout, map[string]Problem{"error": p})
		return p.Exit
	}
	fmt.Fprintf(stderr, "error: %s; %s\n", p.Message, p.Hint)
	return p.Exit
}

// oneLine makes a message safe for a terminal and keeps it on its line.
func oneLine(s string) string {
	const most = 1000 // a message that quotes its input has caps of its own
	s = Printable(s)
	b := []rune(s)
	for i, r := range b {
		if r == '\n' {
			b[i] = ' '
		}
	}
	if len(b) > most {
		b = append(b[:most], '…')
	}
	return string(b)
}
