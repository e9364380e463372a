package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"arborist/daemon/api"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// A headFiles keeps the greatest signed head of each own corpus beside its key,
// in keys/corpus-NAME.head: the signed note, verbatim. Shards that are restored
// from an old backup without the keys then meet what their key has signed since.
type headFiles struct {
	home   Home
	peerID string
}

var _ corpus.HeadKeeper = headFiles{}

func (f headFiles) path(origin string) (string, error) {
	name, ok := strings.CutPrefix(origin, f.peerID+"/")
	if !ok || checkCorpusName(name) != nil {
		return "", fmt.Errorf("%w: %.200q is not a corpus of this node", corpus.ErrKept, origin)
	}
	return f.home.CorpusHead(name), nil
}

// Kept implements [corpus.HeadKeeper].
func (f headFiles) Kept(origin string) ([]byte, error) {
	path, err := f.path(origin)
	if err != nil {
		return nil, err
	}
	note, err := readKept(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	// Told apart here from a note of another key, because here the path is known.
	if _, err := proof.ReadCheckpoint(note); err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", corpus.ErrKept, path, err)
	}
	return note, nil
}

// readKept reads a small regular file: a pipe would hang, a link would lead
// elsewhere.
func readKept(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%w: %s is a symbolic link", corpus.ErrKept, path)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > proof.MaxNote {
		return nil, fmt.Errorf("%w: %s is not a file of at most %d bytes", corpus.ErrKept, path, proof.MaxNote)
	}
	return io.ReadAll(io.LimitReader(file, proof.MaxNote+1))
}

// Keep implements [corpus.HeadKeeper].
func (f headFiles) Keep(origin string, note []byte) error {
	path, err := f.path(origin)
	if err != nil {
		return err
	}
	if err := replaceFile(path, note); err != nil {
		return fmt.Errorf("keep the signed head of %s: %w", origin, err)
	}
	return nil
}

// replaceFile makes b the whole of a file that the owner alone can read, durable
// on return. A crash leaves the old or the new content.
func replaceFile(path string, b []byte) error {
	tmp := path + ".new"
	file, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// reconcileHeads compares every own corpus with its kept head and returns what
// is wrong with any of them, for status: appends refuse by themselves, and
// everything else goes on.
func (n *Node) reconcileHeads(ctx context.Context) (problems []string, err error) {
	infos, err := n.corpora(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range infos {
		if !c.Own {
			continue
		}
		if _, _, err := corpusSigners(n.home, c); err != nil {
			// What the kept head says follows from that.
			e := api.AsError(explain(err))
			problems = append(problems, fmt.Sprintf("corpus %s takes no documents: %s: %s", c.Name, e.Message, e.Hint))
			continue
		}
		err := n.shared.Corpora().Reconcile(ctx, c.Origin)
		if errors.Is(err, corpus.ErrNotFound) || errors.Is(err, corpus.ErrCorrupt) {
			// It was in the list: the file is damaged, or contradicts itself.
			problems = append(problems, fmt.Sprintf("%s: corpus %s: %v: %s", filepath.Join(n.shared.Dir(), shard.CorporaName), c.Origin, err, mendDamaged))
			continue
		}
		if err != nil {
			problems = append(problems, keptProblem(n.home, c.Name, err))
		}
	}
	return problems, nil
}

func keptProblem(home Home, name string, err error) string {
	return fmt.Sprintf("corpus %s takes no documents: %v: bring %s back from a backup; or move it away, after a sync of the corpus from a peer that follows it",
		name, err, home.CorpusHead(name))
}
