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
		})
	}
	return info, nil
}

// frozenBy returns the file that shows what a corpus is frozen by.
func frozenBy(c api.CorpusInfo) string {
	for _, e := range c.Evidence {
		if e.Kind != string(proof.Rollback) {
			return e.File
		}
	}
	return "in the store"
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
