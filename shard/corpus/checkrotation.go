package corpus

import (
	"errors"
	"strings"

	"arborist/merkle"
	"arborist/proof"
)

// checkRotations checks that the rotations make a chain to the pinned key and
// that the log had their roots, as far as it is stored; and where two of one
// key have frozen the corpus, that they are there.
func (c *checker) checkRotations() error {
	chain, err := readRotations(c.ctx, c.tx, c.log, true)
	if errors.Is(err, ErrCorrupt) {
		c.fail("%v", err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := proof.CheckRotations(chain); err != nil {
		c.fail("%v", err)
	}
	var older []string
	for _, r := range chain {
		older = append(older, r.Old.String())
	}
	if strings.Join(older, " ") != c.log.older {
		c.fail("its rows of replaced keys are not what its rotations say")
	}
	if n := len(chain); n > 0 && chain[n-1].New.String() != c.log.key && c.log.frozen == 0 {
		c.fail("its last rotation leads to %s, not to its key", chain[n-1].New)
	}
	t := newTiles(c.ctx, c.tx, c.log.id, c.log.head.Size)
	for i, r := range chain {
		if r.Head.Origin != c.log.origin {
			c.fail("rotation %d is of %s", i+1, r.Head.Origin)
		}
		if r.Head.Size == 0 || r.Head.Size > c.log.head.Size || c.log.frozen != 0 {
			continue
		}
		if root, err := merkle.RootAt(t, r.Head.Size); err != nil || root != r.Head.Root {
			c.fail("rotation %d: the log has another root at %d records", i+1, r.Head.Size)
		}
	}
	if c.log.frozen == rotationFork {
		if _, err := readFork(c.ctx, c.tx, c.log); errors.Is(err, ErrCorrupt) {
			c.fail("%v", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}
