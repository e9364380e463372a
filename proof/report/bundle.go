package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"arborist/proof"
)

// A BundleResult is what a verified bundle shows.
type BundleResult struct {
	Valid   bool           `json:"valid"`
	Hits    []HitResult    `json:"hits"`
	Corpora []CorpusResult `json:"corpora"`
}

// A HitResult is the result of one hit, the same as of its single proof.
type HitResult struct {
	Rank int `json:"rank"` // from 1
	Result
}

// A CorpusResult says of one corpus of a bundle whether its signature was
// checked. Where it was not, all else is what the file says of itself.
type CorpusResult struct {
	Origin           string `json:"origin"`
	Corpus           string `json:"corpus"`
	Publisher        string `json:"publisher"`
	LogSize          uint64 `json:"log_size"`
	Hits             int    `json:"hits"`
	SignatureChecked bool   `json:"signature_checked"`
}

// NewBundleResult puts the claims of a bundle into the form that the verb prints.
func NewBundleResult(c proof.BundleClaims) BundleResult {
	r := BundleResult{Valid: true, Hits: []HitResult{}, Corpora: []CorpusResult{}}
	for i, claim := range c.Hits {
		hit := HitResult{Rank: i + 1, Result: NewResult(claim)}
		// A root can be given for a single proof only.
		hit.Statement = strings.Replace(hit.Statement, "; pass --root to compare the document with one that you know", "", 1)
		r.Hits = append(r.Hits, hit)
	}
	for _, l := range c.Corpora {
		publisher, name, _ := proof.SplitOrigin(l.Origin) // a verified bundle has no other origins
		r.Corpora = append(r.Corpora, CorpusResult{
			Origin: l.Origin, Corpus: name, Publisher: publisher,
			LogSize: l.Size, Hits: l.Hits, SignatureChecked: l.SignatureChecked,
		})
	}
	return r
}

// checkBundle verifies a bundle. Its hits are of many documents and have their
// passages with them, so what fixes one document or one passage is refused
// rather than left unused.
func (o Options) checkBundle(file []byte, e proof.Expect, keys []*proof.Verifier) (r BundleResult, err error) {
	switch {
	case o.Root != "" || o.ID != "" || o.Text != "":
		return BundleResult{}, usage("--root, --id and --text are for the proof of one passage, and this is a bundle",
			"leave them out: the result names the root and ID of every hit")
	}
	if o.Rotations != "" {
		if e.Rotations, err = readRotations(o.Rotations); err != nil {
			return BundleResult{}, err
		}
	}
	want := proof.ExpectBundle{Keys: keys, Rotations: e.Rotations, Witnesses: e.Witnesses, Quorum: e.Quorum}
	if err := want.Check(); err != nil {
		return BundleResult{}, usage(err.Error(), "pass --key for each corpus that --rotations, --witness and --quorum are about, and no witness that is a publisher")
	}
	b, err := proof.ParseBundle(cutLineEnd(file))
	if err != nil {
		return BundleResult{}, of(o.File, err)
	}
	claims, err := proof.VerifyBundle(b, want)
	if err != nil {
		return BundleResult{}, of(o.File, err)
	}
	return NewBundleResult(claims), nil
}

// verifyWithKeys verifies one proof where several keys are given. One of them
// must check it; of several for one corpus, one must have signed. The error is
// that of the key which says most: a wrong signature before a missing one.
func verifyWithKeys(p *proof.Proof, e proof.Expect, keys []*proof.Verifier) (c proof.Claim, err error) {
	if len(keys) == 0 {
		return proof.Verify(p, e)
	}
	var refusal error
	for _, key := range keys {
		e.Key = key
		switch c, err = proof.Verify(p, e); {
		case err == nil:
			return c, nil
		case !errors.Is(err, proof.ErrUnknownKey) && !errors.Is(err, proof.ErrOrigin):
			return c, err
		}
		refusal = err
	}
	return proof.Claim{}, refusal
}

// PrintBundle writes the result to w: one JSON object, or for a person one line
// a hit and a summary.
func PrintBundle(w io.Writer, r BundleResult, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}
	var b strings.Builder
	for _, h := range r.Hits {
		fmt.Fprintf(&b, "%d. %s\n", h.Rank, h.Statement)
	}
	checked := 0
	for _, c := range r.Corpora {
		state := "signature NOT checked: pass --key with its verifier key"
		if c.SignatureChecked {
			checked++
			state = "signature checked"
		}
		fmt.Fprintf(&b, "corpus %s, log size %d, %d of %d hits: %s\n", c.Origin, c.LogSize, c.Hits, len(r.Hits), state)
	}
	fmt.Fprintf(&b, "valid: all %d hits; %d of %d signatures of corpora checked\n", len(r.Hits), checked, len(r.Corpora))
	if _, err := io.WriteString(w, Printable(b.String())); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}
