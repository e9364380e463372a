package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"arborist/shard"
)

// lostLogs names the corpora of which this home has the key and not the log: the
// file of corpora was lost, and another one made in its place.
func (n *Node) lostLogs(ctx context.Context) (names []string, err error) {
	if n.shared.Corpora().Broken() != nil {
		return nil, nil // which logs are in it is not known
	}
	infos, err := n.shared.Corpora().List(ctx)
	if err != nil {
		return nil, err
	}
	here := make(map[string]bool)
	for _, c := range infos {
		here[c.Name] = here[c.Name] || c.Own
	}
	keys, err := filepath.Glob(n.home.CorpusKey("*"))
	if err != nil {
		return nil, err
	}
	for _, path := range keys {
		name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(path), ".key"), "corpus-")
		// Keys that were replaced, or are to be, have a dot in between.
		if checkCorpusName(name) == nil && !here[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

// lostLogProblem says what to do about one of them. An empty log is enough to
// begin with: the head kept beside the key says what it lacks.
func lostLogProblem(name string) string {
	return fmt.Sprintf("corpus %s has a key and no log here, as where shards/%s was lost: bring that back from a backup, or make the log again, empty: arborist check --repair",
		name, shard.CorporaName)
}

// remakeLogs makes an empty log for each corpus that has lost its own. It signs
// nothing before a sync has brought back what its key has signed.
func (n *Node) remakeLogs(ctx context.Context, names []string, r *shard.Repair) error {
	for _, name := range names {
		if !r.DryRun {
			if _, err := createCorpus(ctx, n.home, n.shared, n.id, name); err != nil {
				return err
			}
		}
		r.Did(fmt.Sprintf("corpus %s/%s: an empty log is made for its key", n.id, name))
	}
	return nil
}
