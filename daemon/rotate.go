package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"arborist/daemon/api"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// NextCorpusKey is the key that a corpus is about to change to; OldCorpusKey
// the one that it has replaced and that still signs beside.
func (h Home) NextCorpusKey(name string) string {
	return filepath.Join(h.Keys(), "corpus-"+name+".next.key")
}

// OldCorpusKey is the key that a corpus has replaced, until it is retired.
func (h Home) OldCorpusKey(name string) string {
	return filepath.Join(h.Keys(), "corpus-"+name+".old.key")
}

// corpusSigners returns the key that the corpus is pinned to and, where it is
// kept, the one that it replaced last. A rotation that was killed can have left
// the present key under the next one's name: what is in a file counts.
func corpusSigners(home Home, info corpus.Info) (present *proof.Signer, old []*proof.Signer, err error) {
	for _, path := range []string{home.CorpusKey(info.Name), home.NextCorpusKey(info.Name), home.OldCorpusKey(info.Name)} {
		s, err := readSigner(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		n := len(info.Older)
		switch vkey := s.Verifier().String(); {
		case vkey == info.Key:
			present = s
		case n > 0 && vkey == info.Older[n-1] && len(old) == 0:
			old = []*proof.Signer{s}
		}
	}
	return present, old, checkKeyFiles(home, info, present)
}

// checkKeyFiles tells a home whose keys and shards are not of one time: both
// would go on as if the key had not changed. A key that the store does not know
// stands in the main file only when the store is older.
func checkKeyFiles(home Home, info corpus.Info, present *proof.Signer) error {
	if _, err := proof.ParseVerifier(info.Key); err != nil {
		return fmt.Errorf("corpus %s: %w: its key in shards/%s: %w", info.Name, corpus.ErrCorrupt, shard.CorporaName, err)
	}
	path := home.CorpusKey(info.Name)
	main, err := readSigner(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && present == nil:
		return api.NewError(api.CodeFailed, fmt.Errorf("corpus %s: %w", info.Name, err),
			"bring the file back from a backup: without it the corpus cannot grow; arborist corpus create NAME makes another")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if main != nil {
		if vkey := main.Verifier().String(); vkey != info.Key && !slices.Contains(info.Older, vkey) {
			return api.NewError(api.CodeInvalid,
				fmt.Errorf("corpus %s: %w: %s signs for it, the shards know %s: they are from before its key was changed", info.Name, corpus.ErrBehind, vkey, info.Key),
				"sync it back from a peer that follows it: arborist peer sync FROM "+info.Origin+"; or bring back a newer backup of the shards")
		}
	}
	if present == nil {
		return api.NewError(api.CodeInvalid,
			fmt.Errorf("corpus %s: its key %s is in no file of %s: they are from before its key was changed", info.Name, info.Key, home.Keys()),
			"bring back "+path+" from a backup that was made after that; without it the corpus cannot grow: arborist corpus create NAME makes another")
	}
	return nil
}

// settleKeys gives the key files of a rotation that the store holds their final
// names: first the replaced key gets a second one, then the present key takes
// its first. A kill between leaves files that corpusSigners tells apart.
func settleKeys(home Home, info corpus.Info) error {
	next, err := readSigner(home.NextCorpusKey(info.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if next.Verifier().String() != info.Key {
		return nil // the rotation has not happened
	}
	path := home.CorpusKey(info.Name)
	if err := os.Link(path, home.OldCorpusKey(info.Name)); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the replaced key: %w", err)
	}
	if err := shard.SyncFolder(home.Keys()); err != nil {
		return err
	}
	if err := os.Rename(home.NextCorpusKey(info.Name), path); err != nil {
		return fmt.Errorf("name the new key: %w", err)
	}
	return shard.SyncFolder(home.Keys())
}

// errStillSigns: a corpus has one replaced key that signs beside, not two.
var errStillSigns = errors.New("the key that it replaced last still signs")

// RotateCorpus implements [api.Corpora]. The new key is durable on disk before
// anything is signed with it.
func (n *Node) RotateCorpus(ctx context.Context, name string) (api.CorpusInfo, error) {
	info, err := n.ownCorpus(ctx, name)
	if err != nil {
		return api.CorpusInfo{}, err
	}
	if err := settleKeys(n.home, info); err != nil {
		return api.CorpusInfo{}, explain(err)
	}
	present, old, err := corpusSigners(n.home, info)
	if err != nil {
		return api.CorpusInfo{}, explain(err)
	}
	if len(old) > 0 {
		return api.CorpusInfo{}, api.NewError(api.CodeFailed, fmt.Errorf("rotate the key of corpus %s: %w", info.Name, errStillSigns),
			"retire that one first: arborist corpus key "+info.Name+" --retire")
	}
	if err := n.beforeAppend(ctx, info); err != nil {
		return api.CorpusInfo{}, err
	}
	next, err := nextSigner(n.home, info)
	if err != nil {
		return api.CorpusInfo{}, explain(err)
	}
	if _, err := n.shared.Corpora().Rotate(ctx, info.Origin, present, next); err != nil {
		return api.CorpusInfo{}, explain(err)
	}
	if info, err = n.lookupCorpus(ctx, info.Origin); err != nil {
		return api.CorpusInfo{}, err
	}
	if err := settleKeys(n.home, info); err != nil {
		return corpusInfo(info), explain(err)
	}
	n.makeFilters(ctx)
	return corpusInfo(info), nil
}

// nextSigner returns the key to change to: one that an earlier call has written
// and not used, or a new one, which is durable on return.
func nextSigner(home Home, info corpus.Info) (*proof.Signer, error) {
	path := home.NextCorpusKey(info.Name)
	if s, err := readSigner(path); !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	var seed [32]byte
	rand.Read(seed[:]) // never fails: crypto/rand
	s, err := proof.NewSigner(info.Origin, seed)
	if err != nil {
		return nil, err
	}
	if err := writeNew(path, []byte(s.PrivateKey()+"\n")); err != nil {
		return nil, fmt.Errorf("write the new key of corpus %s: %w", info.Name, err)
	}
	return s, nil
}

// RetireCorpusKey implements [api.Corpora]. The file is removed; what the disk
// still holds of it is beyond us.
func (n *Node) RetireCorpusKey(ctx context.Context, name string) (api.CorpusInfo, error) {
	info, err := n.ownCorpus(ctx, name)
	if err != nil {
		return api.CorpusInfo{}, err
	}
	if err := settleKeys(n.home, info); err != nil {
		return api.CorpusInfo{}, explain(err)
	}
	if _, _, err := corpusSigners(n.home, info); err != nil {
		return api.CorpusInfo{}, explain(err)
	}
	if err := n.unconfirmed(info); err != nil {
		return api.CorpusInfo{}, err
	}
	err = os.Remove(n.home.OldCorpusKey(info.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return api.CorpusInfo{}, api.NewError(api.CodeNotFound, fmt.Errorf("retire a key of corpus %s: no replaced key is kept", info.Name),
			"replace the present one first: arborist corpus key "+info.Name+" --rotate")
	}
	if err != nil {
		return api.CorpusInfo{}, explain(err)
	}
	return corpusInfo(info), explain(shard.SyncFolder(n.home.Keys()))
}

// CorpusRotations implements [api.Corpora].
func (n *Node) CorpusRotations(ctx context.Context, name string) (api.RotationsResult, error) {
	info, err := n.lookupCorpus(ctx, name)
	if err != nil {
		return api.RotationsResult{}, err
	}
	file, err := n.shared.Corpora().KnownRotations(ctx, info.Origin)
	if errors.Is(err, corpus.ErrNotFound) {
		return api.RotationsResult{}, api.NewError(api.CodeNotFound, fmt.Errorf("rotations of corpus %s: it has kept its first key", info.Name),
			"verify its proofs with that key: arborist corpus key "+name)
	}
	if err != nil {
		return api.RotationsResult{}, explain(err)
	}
	chain, err := proof.ParseRotations(file)
	if err != nil {
		return api.RotationsResult{}, err
	}
	res := api.RotationsResult{Name: info.Name, File: string(file)}
	for _, r := range chain {
		res.Rotations = append(res.Rotations, api.RotationInfo{Old: r.Old.String(), New: r.New.String(), Size: r.Head.Size})
	}
	return res, nil
}

// ownCorpus finds a corpus whose key is ours to change.
func (n *Node) ownCorpus(ctx context.Context, name string) (corpus.Info, error) {
	info, err := n.lookupCorpus(ctx, name)
	if err == nil && !info.Own {
		err = api.NewError(api.CodeDenied, fmt.Errorf("change the key of corpus %s: %s publishes it", name, info.Publisher), "only its publisher can")
	}
	return info, err
}
