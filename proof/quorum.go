package proof

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
)

// A witnessing is what a note shows of the witnesses that were given.
type witnessing struct {
	found  []Cosignature
	others int // signature lines of keys that were not given
}

// witnessedNote names a note together with the keys whose lines were verified.
type witnessedNote struct {
	note, keys string
}

// Check returns [ErrExpect] where e makes no sense whatever the proof: witnesses
// without a key of the corpus, the corpus's own key as a witness, a quorum that
// the witnesses given cannot reach. [Verify] refuses it too.
func (e Expect) Check() error {
	_, err := e.checkWitnesses()
	return err
}

// checkWitnesses checks that what is demanded of witnesses makes sense. It
// returns how many different witnesses were given.
func (e *Expect) checkWitnesses() (given int, err error) {
	different := make(map[[ed25519.PublicKeySize]byte]bool)
	for _, w := range e.Witnesses {
		switch {
		case w == nil:
			return 0, fmt.Errorf("%w: one of the witnesses is nil", ErrExpect)
		case e.Key == nil:
			return 0, fmt.Errorf("%w: witnesses are given and no key of the corpus: a witness vouches for the log, not for its publisher's signature", ErrExpect)
		case slices.ContainsFunc(e.logKeys(), func(v *Verifier) bool { return v.key == w.key }):
			return 0, fmt.Errorf("%w: the witness %s has the key of the corpus itself", ErrExpect, w.name)
		}
		different[w.key] = true
	}
	given = len(different)
	if e.Quorum < 0 || e.Quorum > given {
		return 0, fmt.Errorf("%w: a quorum of %d, %d different witness keys are given", ErrExpect, e.Quorum, given)
	}
	return given, nil
}

// logKeys returns the keys of the corpus that are given.
func (e *Expect) logKeys() []*Verifier {
	keys := []*Verifier{e.Key}
	for _, r := range e.Rotations {
		keys = append(keys, r.Old, r.New)
	}
	return keys
}

// witnessed verifies the cosignatures of a note that the key has signed, and
// that there are enough of them.
func (k *Checker) witnessed(note []byte, e *Expect, given int, claim *Claim) error {
	w, err := k.cosignatures(note, e)
	if err != nil {
		return err
	}
	quorum := e.Quorum
	if quorum == 0 {
		quorum = given
	}
	if len(w.found) < quorum {
		return fmt.Errorf("%w: %d of %d, wanted %d; by %s", ErrWitness, len(w.found), given, quorum, names(w.found))
	}
	claim.Cosignatures, claim.OtherSignatures, claim.Witnesses = w.found, w.others, given
	return nil
}

func names(found []Cosignature) string {
	if len(found) == 0 {
		return "none"
	}
	all := make([]string, 0, len(found))
	for _, c := range found {
		all = append(all, fmt.Sprintf("%.300q", c.Name))
	}
	return strings.Join(all, ", ")
}

// cosignatures reads the lines of a note, from memory where they were verified
// with the same keys before.
func (k *Checker) cosignatures(note []byte, e *Expect) (w witnessing, err error) {
	var keys []string
	for _, v := range e.logKeys() {
		keys = append(keys, v.String())
	}
	for _, c := range e.Witnesses {
		keys = append(keys, c.String())
	}
	at := witnessedNote{note: string(note), keys: strings.Join(keys, "\n")}
	k.mu.Lock()
	defer k.mu.Unlock()
	if w, ok := k.witnesses[at]; ok {
		return w, nil
	}
	text, sigs, err := splitNote(note)
	if err != nil {
		return w, err
	}
	if w.found, w.others, err = cosignatures(text, sigs, e.Witnesses); err != nil {
		return w, err
	}
	for _, s := range sigs {
		if slices.ContainsFunc(e.logKeys(), func(v *Verifier) bool { return s.name == v.name && s.id == v.id }) {
			w.others--
		}
	}
	if k.witnesses == nil || len(k.witnesses) >= maxOpened {
		k.witnesses = make(map[witnessedNote]witnessing)
	}
	k.witnesses[at] = w
	return w, nil
}
