package daemon

import (
	"context"
	"fmt"
	"slices"

	"arborist/daemon/api"
	"arborist/shard"
	"arborist/shard/corpus"
)

// filterWarnings says why the filters of a query leave nothing to find: they name
// corpora that nothing is known of here, or no document passes them.
func (n *Node) filterWarnings(ctx context.Context, req api.QueryRequest, found shard.Results) (warnings []string, err error) {
	names, err := shard.CorporaIn(req.Text)
	if err != nil {
		return nil, explain(err)
	}
	if len(names) > 0 && req.DB == "" {
		known, err := n.corpora(ctx)
		if err != nil {
			return nil, explain(err)
		}
		for _, name := range names {
			if slices.ContainsFunc(known, func(c corpus.Info) bool { return !left(c) && shard.Names(name, c.Origin) }) ||
				slices.ContainsFunc(found.Hits, func(h shard.Hit) bool { return shard.Names(name, h.Location.Corpus) }) { // of a file that is searched too
				continue
			}
			warnings = append(warnings, fmt.Sprintf("no corpus %q on this node: see which there are: arborist corpus list", name))
		}
	}
	if found.NonePass && len(warnings) == 0 {
		warnings = append(warnings, "no document that is searched is where the query looks (site:, corpus:, after:, before:)")
	}
	return warnings, nil
}
