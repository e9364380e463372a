package report

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"arborist/proof"
)

// ErrUnchecked: evidence whose signatures nobody has checked shows nothing.
var ErrUnchecked = errors.New("the signatures were not checked, so nothing is proven")

// An EvidenceResult is what verified evidence shows.
type EvidenceResult struct {
	Valid      bool   `json:"valid"`
	Kind       string `json:"kind"` // a [proof.EvidenceKind]
	Origin     string `json:"origin"`
	Older      Head   `json:"older"`
	Newer      Head   `json:"newer"`
	Consistent bool   `json:"consistent"` // the heads are shown to be of one history
	Statement  string `json:"statement"`
}

// A Head is one of the two signed heads.
type Head struct {
	Size uint64 `json:"size"`
	Root string `json:"root"` // base64
	Key  string `json:"key"`  // verifier key that signed it; in a fork of rotations the key that was changed to
}

// NewEvidenceResult puts a finding into the form that the verb prints.
func NewEvidenceResult(f proof.Finding) EvidenceResult {
	head := func(c proof.Checkpoint, key *proof.Verifier) Head {
		return Head{c.Size, base64.StdEncoding.EncodeToString(c.Root[:]), key.String()}
	}
	return EvidenceResult{
		Valid: true, Kind: string(f.Kind), Origin: f.Origin,
		Older: head(f.Older, f.OlderKey), Newer: head(f.Newer, f.NewerKey),
		Consistent: f.Consistent, Statement: f.Statement(),
	}
}

// CheckEvidence reads the evidence file that o names and verifies it.
// [Describe] explains its errors.
func CheckEvidence(o Options, stdin io.Reader) (proof.Finding, error) {
	if o.File != "" || o.Quorum != "" || len(o.Witnesses) > 0 || o.Root != "" || o.ID != "" || o.Text != "" {
		return proof.Finding{}, usage("--evidence stands with --key and --rotations alone: the file of a proof, --witness, --quorum, --root, --id and --text have no meaning for it",
			"for example: --evidence FILE --key VKEY")
	}
	if len(o.Keys) > 1 {
		return proof.Finding{}, usage("--evidence with several keys", "pass the key of the corpus that the evidence is about")
	}
	_, keys, err := Options{File: o.Evidence, Keys: o.Keys, Rotations: o.Rotations}.expect()
	if err != nil {
		return proof.Finding{}, err
	}
	file, err := readFile(o.Evidence, proof.MaxEvidence, stdin)
	if err != nil {
		return proof.Finding{}, evidenceError(err)
	}
	ev, err := proof.ParseEvidence(file)
	if err != nil {
		return proof.Finding{}, evidenceError(of(o.Evidence, wrongKind(err, "evidence", file)))
	}
	if len(keys) == 0 {
		claim, err := ev.Claim()
		if err == nil {
			err = ErrUnchecked
		}
		return proof.Finding{}, evidenceError(fmt.Errorf("%s: %s evidence, by its own account against the key of %q: %w", label(o.Evidence), claim.Kind, claim.Origin, err))
	}
	var rotations []proof.Rotation
	if o.Rotations != "" {
		if rotations, err = readRotations(o.Rotations); err != nil {
			return proof.Finding{}, err
		}
	}
	f, err := ev.Verify(keys[0], rotations...)
	return f, evidenceError(of(o.Evidence, err))
}

// PrintEvidence writes the result to w, as one JSON object or as lines for a
// person.
func PrintEvidence(w io.Writer, r EvidenceResult, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}
	text := fmt.Sprintf("valid %s evidence: %s\n  older    %d records, root %s\n  newer    %d records, root %s\n",
		r.Kind, r.Statement, r.Older.Size, r.Older.Root, r.Newer.Size, r.Newer.Root)
	if _, err := io.WriteString(w, Printable(text)); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

func runEvidence(o Options, stdin io.Reader, stdout, stderr io.Writer) int {
	f, err := CheckEvidence(o, stdin)
	if err == nil {
		err = PrintEvidence(stdout, NewEvidenceResult(f), o.JSON)
	}
	if err != nil {
		return Fail(err, o.JSON, stdout, stderr)
	}
	return 0
}

// ofEvidence marks an error as one of evidence, whose next steps are others
// than those of a proof.
type ofEvidence struct{ err error }

func (e *ofEvidence) Error() string { return e.err.Error() }
func (e *ofEvidence) Unwrap() error { return e.err }

func evidenceError(err error) error {
	if err == nil {
		return nil
	}
	return &ofEvidence{err}
}

// evidenceHint is the next step for a kind of invalid where evidence has
// another than a proof; empty where it has the same.
func evidenceHint(reason string) string {
	switch reason {
	case "unknown_key", "other_corpus":
		return "pass the key of the corpus that the evidence names: arborist corpus key PEER/NAME; where that has changed, its rotations too: --rotations FILE, by arborist corpus rotations PEER/NAME"
	case "tampered", "bad_signature":
		return "this file does not show what it claims: accuse nobody by it"
	case "too_large":
		return "this is not an evidence file, or not one that an honest program makes"
	case "malformed":
		return "the file must be byte for byte as it was written: no added line end, no CRLF"
	}
	return ""
}
