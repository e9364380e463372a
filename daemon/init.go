package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"arborist/daemon/api"
	"arborist/peer"
	"arborist/shard"
)

// DefaultShards is how many shard files a new home gets.
const DefaultShards = 4

// MainCorpus is the corpus that every home has and that adds go to.
const MainCorpus = "main"

// InitResult describes the home that [Init] made or found.
type InitResult struct {
	Home   string `json:"home"`
	PeerID string `json:"peer_id"`
	Shards int    `json:"shards"`
	New    bool   `json:"new"`
}

// Init makes a home with its keys, shard files (a power of two up to 256; 0
// means [DefaultShards], or what is there already) and the corpus main. A
// second time it changes nothing; asked for another number of shards it fails.
func Init(ctx context.Context, home Home, shards int) (res InitResult, err error) {
	_, statErr := os.Stat(home.Config())
	isNew := errors.Is(statErr, fs.ErrNotExist)
	if !isNew {
		if _, err := home.check(); err != nil {
			return res, explain(err)
		}
	}
	if err := home.makeFolders(); err != nil {
		return res, explain(err)
	}
	l, err := takeLock(ctx, home, lockWait)
	if err != nil {
		return res, err
	}
	defer l.release()

	if shards == 0 {
		begun, err := shard.SetSize(home.Shards())
		switch {
		case err != nil:
			return res, explain(err)
		case begun == 0:
			shards = DefaultShards
		case isNew: // an init was cut short: it is completed as it was begun
			shards = begun
		}
	}
	if shards != 0 {
		if err := shard.CreateShared(home.Shards(), shards); err != nil {
			return res, api.NewError(api.CodeUsage, err, "--shards takes a power of two from 1 to 256, and stays what it was at the first init until: arborist shard split")
		}
	}
	id, err := peer.LoadID(home.PeerKey())
	if err != nil {
		return res, err
	}
	shared, err := shard.OpenShared(home.Shards())
	if err != nil {
		return res, explain(err)
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	if _, err := createCorpus(ctx, home, shared, id, MainCorpus); err != nil {
		return res, err
	}
	// The configuration comes last: it is what makes the folder a home, so an
	// init that was cut short is simply done again.
	if isNew {
		if err := writeNew(home.Config(), []byte(newConfig)); err != nil {
			return res, fmt.Errorf("init %s: %w", home, err)
		}
	}
	return InitResult{Home: string(home), PeerID: id, Shards: shared.Shards(), New: isNew}, nil
}

// writeNew writes a file that must not be there yet, whole and durable or not
// at all, readable by the owner alone.
func writeNew(path string, b []byte) error {
	// What a killed call has left may be a second name of the file that it had
	// made, under whatever name that is now: it is unlinked, never written to.
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		// Unlike a rename, a link never replaces a file that came meanwhile.
		err = os.Link(tmp, path)
	}
	if err := errors.Join(err, os.Remove(tmp)); err != nil {
		return err
	}
	return shard.SyncFolder(filepath.Dir(path))
}
