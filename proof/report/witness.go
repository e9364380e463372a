package report

import (
	"errors"
	"fmt"
	"strconv"

	"arborist/proof"
)

// expectWitnesses parses the flags that say who must have cosigned.
func (o Options) expectWitnesses(e *proof.Expect) error {
	if len(o.Witnesses) > proof.MaxSignatures {
		return usage(fmt.Sprintf("%d witnesses named, at most %d", len(o.Witnesses), proof.MaxSignatures), "name fewer")
	}
	for _, vkey := range o.Witnesses {
		w, err := proof.ParseCosigner(vkey)
		if err != nil {
			return usage("--witness: "+err.Error(), "pass the line that `arborist peer witness-key` prints, as one argument in quotes")
		}
		e.Witnesses = append(e.Witnesses, w)
	}
	if o.Quorum != "" {
		n, err := strconv.Atoi(o.Quorum)
		if err != nil || n < 1 || strconv.Itoa(n) != o.Quorum {
			return usage(fmt.Sprintf("--quorum: %.40q is not a number from 1", o.Quorum), "leave it out to demand all the witnesses named")
		}
		e.Quorum = n
	}
	switch err := e.Check(); {
	case err == nil:
		return nil
	case !errors.Is(err, proof.ErrExpect):
		return err
	case len(o.Witnesses) > 0 && len(o.Keys) == 0:
		return usage("--witness without --key: a witness vouches for the log, not for its publisher's signature", "name the key of the corpus too: --key VKEY")
	default:
		return usage(err.Error(), "name each witness once, none of them the publisher, and a --quorum of at most their number")
	}
}
