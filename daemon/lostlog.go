package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
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
	keyed, err := n.home.keyedCorpora()
	for _, name := range keyed {
		if !here[name] {
			names = append(names, name)
		}
	}
	return names, err
}

// keyedCorpora names the corpora of which the home has a key.
func (h Home) keyedCorpora() (names []string, err error) {
	keys, err := filepath.Glob(h.CorpusKey("*"))
	for _, path := range keys {
		name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(path), ".key"), "corpus-")
		// Keys that were replaced, or are to be, have a dot in between.
		if checkCorpusName(name) == nil {
			names = append(names, name)
		}
	}
	return names, err
}

// keptLogs returns what the home keeps of its own logs beside their file. A key or a
// head that cannot be read is as good as none here: status names it.
func (h Home) keptLogs() (kept []corpus.Kept, err error) {
	names, err := h.keyedCorpora()
	for _, name := range names {
		signer, err := readSigner(h.CorpusKey(name))
		if err != nil {
			continue
		}
		note, _ := readKept(h.CorpusHead(name))
		kept = append(kept, corpus.Kept{Key: signer.Verifier(), Note: note})
	}
	return kept, err
}

// mendLostLog is the next step of whoever has lost one.
const mendLostLog = "bring shards/" + shard.CorporaName + " back from a backup; or stop the daemon, where one runs, and make the log again of what can be read: arborist check --repair"

// lostLogProblem says that the log of an own corpus is lost, and how much that is.
func (n *Node) lostLogProblem(name string) string {
	signed := ""
	if note, err := readKept(n.home.CorpusHead(name)); err == nil {
		if head, err := proof.ReadCheckpoint(note); err == nil {
			signed = fmt.Sprintf(", which has signed %d records,", head.Size)
		}
	}
	return fmt.Sprintf("corpus %s has a key%s and no log here, as where shards/%s was lost", name, signed, shard.CorporaName)
}

// remakeLogs makes an empty log for each corpus that has lost its own. The head kept
// beside the key says what it lacks: it signs nothing before a sync has brought
// that back.
func (n *Node) remakeLogs(ctx context.Context, names []string, r *shard.Repair) error {
	if len(names) == 0 {
		return nil
	}
	if err := n.shared.Corpora().MayCreate(ctx); err != nil {
		return err
	}
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
