package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"arborist/daemon/api"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// Status implements [api.Keeper].
func (n *Node) Status(ctx context.Context) (res api.StatusResult, err error) {
	res = api.StatusResult{
		Home: string(n.home), PeerID: n.id, Shards: n.shared.Shards(), Problems: []string{},
	}
	shared, err := n.shared.Stats(ctx)
	if err != nil {
		return res, explain(err)
	}
	private, err := n.private.File().Stats(ctx)
	if err != nil && !errors.Is(err, shard.ErrCorrupt) { // damage says it
		return res, explain(err)
	}
	if res.Pending, err = n.pending(ctx); err != nil {
		return res, explain(err)
	}
	res.Shared, res.Crawl = storeStatus(shared), storeStatus(private)
	kept, err := n.reconcileHeads(ctx)
	if err != nil {
		return res, explain(err)
	}
	res.Problems = append(res.Problems, kept...)
	lost, err := n.lostLogs(ctx)
	if err != nil {
		return res, explain(err)
	}
	for _, name := range lost {
		res.Problems = append(res.Problems, n.lostLogProblem(name)+": "+mendLostLog)
	}
	keys, err := n.home.exposedKeys()
	if err != nil {
		return res, err
	}
	res.Problems = append(res.Problems, keys...)
	res.Problems = append(res.Problems, n.networkProblem(keys)...)
	n.setState(&res)
	res.Problems = append(res.Problems, n.damage()...)
	n.setAttached(&res)
	corpora, err := n.corpora(ctx)
	if err != nil {
		return res, explain(err)
	}
	for _, c := range corpora {
		info, err := n.describe(ctx, c)
		if err != nil {
			return res, err
		}
		info.Problem = n.corpusProblem(c, frozenBy(info))
		res.Corpora = append(res.Corpora, info)
		res.Problems = append(res.Problems, evidenceProblems(info)...)
		res.Problems = append(res.Problems, replacedProblems(info, c.Frozen)...)
		if info.Problem != "" {
			res.Problems = append(res.Problems, info.Problem)
		}
	}
	id, err := n.PeerID(ctx)
	if err != nil {
		return res, err
	}
	res.Addrs = id.Addrs
	peers, err := n.ListPeers(ctx)
	if err != nil {
		return res, err
	}
	res.Peers = len(peers.Peers)
	res.Healthy = len(res.Problems) == 0
	return res, nil
}

// corpusProblem says what keeps a corpus from going on, if anything does;
// evidence is the file that shows why it is frozen.
func (n *Node) corpusProblem(c corpus.Info, evidence string) string {
	switch {
	case c.Frozen && c.Own:
		return fmt.Sprintf("corpus %s is frozen: its own key has signed two histories, as two copies of this home would; the evidence is %s; go on with a new corpus: arborist corpus create NAME", c.Origin, evidence)
	case c.Frozen && strings.HasPrefix(filepath.Base(evidence), string(proof.ReplacedKey)):
		return fmt.Sprintf("corpus %s is frozen: what is here was signed by a key that the corpus has replaced since, and its new key signs another history; the evidence is %s", c.Origin, evidence)
	case c.Frozen:
		return fmt.Sprintf("corpus %s is frozen: its publisher signed two histories; the evidence is %s", c.Origin, evidence)
	case c.Own && n.keyProblem(c) != nil:
		return n.keyProblem(c).Error()
	case c.Own && c.Seen > c.Size:
		return fmt.Sprintf("corpus %s: part of its log is not here, as after the restore of an old backup: %d records here, %d signed; run `arborist peer sync %s %s` to bring them back, "+
			"from a peer that follows it or the folder or URL that it was published to; where nobody has them, go on with a new corpus: arborist corpus create NAME",
			c.Origin, c.Size, c.Seen, n.holder(c.Origin), c.Origin)
	case c.Own && n.unconfirmed(c) != nil:
		e := api.AsError(n.unconfirmed(c))
		return e.Message + "; " + e.Hint
	}
	return ""
}

// keyProblem says whether a peer has shown that the key of an own corpus was
// changed after what is here.
func (n *Node) keyProblem(c corpus.Info) error {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	return outdated(n.guard, c)
}

// holder names a peer that is known to have what an own corpus lacks here.
func (n *Node) holder(origin string) string {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	if peer, ok := n.guard.holder(origin); ok {
		return peer
	}
	return "FROM"
}

// corpora lists the corpora of this home; nil where their file cannot be used,
// which damage says.
func (n *Node) corpora(ctx context.Context) ([]corpus.Info, error) {
	if n.shared.Corpora().Broken() != nil {
		return nil, nil
	}
	return n.shared.Corpora().List(ctx)
}

// damage says which files of this home cannot be used, and in which damage was
// met since they were opened. It reads nothing.
func (n *Node) damage() (problems []string) {
	all := n.shared.Damage()
	if err := n.private.File().Damage(); err != nil {
		all = append(all, err)
	}
	for _, err := range all {
		next := mendOf(err)
		if next == shard.MendBroken {
			next = "the other files answer without it, and nothing is written; " + next
		}
		problems = append(problems, fmt.Sprintf("%v: %s", err, next))
	}
	return problems
}

func storeStatus(s shard.Stats) api.StoreStatus {
	return api.StoreStatus{Documents: s.Documents, Chunks: s.Chunks, Bytes: s.Bytes}
}

// checkAttached checks the copies of attached files.
func (n *Node) checkAttached(ctx context.Context, subset shard.Subset, report func(string)) (documents int, err error) {
	files, failed, release := n.attached.acquire()
	defer release()
	for _, f := range failed {
		report(fmt.Sprintf("attached file %s: %s", f.URI, f.Error))
	}
	for _, f := range files {
		checked, err := f.CheckWith(ctx, shard.CheckOptions{Subset: subset}, report)
		if documents += checked; err != nil {
			return documents, err
		}
	}
	return documents, nil
}

// setAttached puts the attached files into a status, with what is wrong with
// their list or any of them.
func (n *Node) setAttached(res *api.StatusResult) {
	res.Attached = []api.AttachedFile{}
	list, err := n.attached.listed()
	if err != nil {
		res.Problems = append(res.Problems, err.Error())
		return
	}
	res.Attached = append(res.Attached, list...)
	_, failed, release := n.attached.acquire()
	defer release()
	for _, f := range failed {
		res.Problems = append(res.Problems, fmt.Sprintf("attached file %s is not searched: %s: attach it again, or run `arborist detach %s`", f.URI, f.Error, f.URI))
	}
}
