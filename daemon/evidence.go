package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"arborist/daemon/api"
	"arborist/proof"
	"arborist/shard/corpus"
)

// describe is witnessedInfo with what is kept against the corpus's publisher.
func (n *Node) describe(ctx context.Context, c corpus.Info) (api.CorpusInfo, error) {
	info, err := n.witnessedInfo(ctx, c)
	if err != nil {
		return info, err
	}
	all, err := n.shared.Corpora().Evidence(ctx, c.Origin)
	if err != nil {
		return info, explain(err)
	}
	for _, e := range all {
		name, err := e.FileName()
		if err != nil {
			return info, explain(fmt.Errorf("%w: evidence %d of %s: %w", corpus.ErrCorrupt, e.ID, c.Origin, err))
		}
		claim, err := e.Claim()
		if err != nil {
			return info, explain(err)
		}
		info.Evidence = append(info.Evidence, api.EvidenceInfo{
			Kind: string(e.Kind), File: filepath.Join(n.home.Evidence(), name),
			Older: claim.Older.Size, Newer: claim.Newer.Size, Found: e.At,
			Contradicts: e.Kind == proof.RotationFork || !e.Root.IsZero(),
		})
	}
	return info, nil
}

// frozenBy returns the file that shows what a corpus is frozen by: by a replaced
// key's head only where nothing else is kept that can freeze one.
func frozenBy(c api.CorpusInfo) string {
	file := "in the store"
	for _, e := range c.Evidence {
		switch {
		case !e.Contradicts:
		case e.Kind != string(proof.ReplacedKey):
			return e.File
		default:
			file = e.File
		}
	}
	return file
}

// replacedProblems says, of a corpus that goes on, what a key that it has
// replaced has signed since: somebody has that key who should not.
func replacedProblems(c api.CorpusInfo, frozen bool) (problems []string) {
	for _, e := range c.Evidence {
		if !frozen && e.Contradicts {
			problems = append(problems, fmt.Sprintf("corpus %s: a key that it has replaced has signed another history: nothing of that was taken, the corpus goes on; "+
				"beware of proofs that it alone has signed; the evidence is %s", c.Origin, e.File))
		}
	}
	return problems[:min(len(problems), 1)] // a thief can sign any number; corpus show lists them
}

// evidenceProblems says which files are not where they should be. That evidence
// is there is no problem by itself: see [Node.corpusProblem].
func evidenceProblems(c api.CorpusInfo) (problems []string) {
	for _, e := range c.Evidence {
		if _, err := os.Stat(e.File); err != nil {
			problems = append(problems, fmt.Sprintf("evidence file is missing, it is written when the home is opened the next time: %v", err))
		}
	}
	return problems
}
