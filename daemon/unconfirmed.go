package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"arborist/daemon/api"
	"arborist/shard"
	"arborist/shard/corpus"
)

// Unconfirmed is there while nobody knows whether an own corpus has signed more
// than the backup holds that it was restored from; it holds the backup's time.
func (h Home) Unconfirmed(name string) string {
	return strings.TrimSuffix(h.CorpusKey(name), ".key") + ".restored"
}

// unconfirm notes that a corpus was restored from a backup of that time, or of
// an earlier one where the backup was of a home that waited itself. A log that
// went on after it would fork with the next record: that waits until a follower
// has shown the head that is here, or the owner says that there was none after
// it. A published copy cannot: it may be as old as the backup.
func unconfirm(home Home, name string, made time.Time) error {
	path := home.Unconfirmed(name)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return replaceFile(path, []byte(made.UTC().Format(time.RFC3339)+"\n"))
}

// unconfirmed tells why an own corpus must sign nothing after a restore, or nil.
func (n *Node) unconfirmed(info corpus.Info) error {
	made, err := readSmall(n.home.Unconfirmed(info.Name), maxKeyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return explain(err)
	}
	return api.NewError(api.CodeInvalid,
		fmt.Errorf("corpus %s signs nothing: it was restored from a backup of %.40s, and what it has signed after that would be contradicted", info.Name, trimNewline(made)),
		"let a follower show its head: arborist daemon, then arborist peer join ADDRESS; or bring back what was published later: arborist peer sync FROM "+info.Origin+
			"; when nothing is missing: arborist corpus confirm "+info.Name)
}

// confirm ends that a corpus waits. The file that says so may be gone already.
func (n *Node) confirm(info corpus.Info) error {
	err := os.Remove(n.home.Unconfirmed(info.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		n.log.Info("a restored corpus is confirmed and goes on", "corpus", info.Origin, "records", info.Size)
		err = shard.SyncFolder(n.home.Keys())
	}
	return err
}

// agreed is told that a peer has the very head of a corpus that is here.
func (n *Node) agreed(info corpus.Info) {
	if !info.Own || info.Seen > info.Size || info.Frozen {
		return
	}
	if err := n.confirm(info); err != nil {
		n.log.Warn("a restored corpus stays unconfirmed", "corpus", info.Origin, "error", err)
	}
}

// ConfirmCorpus implements [api.Corpora].
func (n *Node) ConfirmCorpus(ctx context.Context, name string) (api.CorpusInfo, error) {
	info, err := n.ownCorpus(ctx, name)
	if err != nil {
		return api.CorpusInfo{}, err
	}
	if _, _, err := corpusSigners(n.home, info); err != nil {
		return api.CorpusInfo{}, explain(err)
	}
	described, err := n.describe(ctx, info)
	if err != nil {
		return api.CorpusInfo{}, err
	}
	if info.Frozen || info.Seen > info.Size || n.keyProblem(info) != nil {
		return api.CorpusInfo{}, api.NewError(api.CodeInvalid, errors.New(n.corpusProblem(info, frozenBy(described))), "")
	}
	return described, explain(n.confirm(info))
}
