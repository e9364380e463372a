package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"

	"arborist/daemon/api"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// maxWitnesses bounds the lines that a stored note can gather.
const maxWitnesses = 32

// startWitnessing tells the store whose cosignatures to keep: those of the
// witnesses in config.toml and, where this node has a witness key, its own. A
// head that was accepted while the key could not be read is cosigned now.
func (n *Node) startWitnessing(ctx context.Context) error {
	known, err := parseWitnesses(n.home.Config(), n.cfg.Peer.Witnesses)
	if err != nil {
		return err
	}
	n.witnesses = known
	own, err := n.loadWitness()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	n.shared.Corpora().SetWitnesses(known, own)
	if err := n.shared.Corpora().CosignHeads(ctx); err != nil && !errors.Is(err, shard.ErrLogs) {
		n.log.Error("heads could not be cosigned, arborist check tells more", "err", err) // no reason to keep the node down
	}
	return nil
}

func parseWitnesses(path string, vkeys []string) (known []*proof.Cosigner, err error) {
	if len(vkeys) > maxWitnesses {
		return nil, configError(path, fmt.Errorf("[peer] witnesses: %d keys, at most %d", len(vkeys), maxWitnesses))
	}
	for i, vkey := range vkeys {
		w, err := proof.ParseCosigner(vkey)
		if err != nil {
			return nil, configError(path, fmt.Errorf("[peer] witnesses, key %d: %w", i+1, err))
		}
		known = append(known, w)
	}
	return known, nil
}

// loadWitness reads the key that this node cosigns with. It is not the peer
// key: an Ed25519 cosignature does not commit to a name, so its key must be of
// no other use. It fails with [fs.ErrNotExist] while there is none.
func (n *Node) loadWitness() (*proof.CosignSigner, error) {
	path := n.home.WitnessKey()
	b, err := readSmall(path, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read witness key: %w", err)
	}
	s, err := proof.ParseCosignSigner(trimNewline(b))
	if err == nil && s.Name() != n.id {
		err = fmt.Errorf("it is the key of %s, this node is %s", s.Name(), n.id)
	}
	if err != nil {
		return nil, api.NewError(api.CodeInvalid, fmt.Errorf("read %s: %w", path, err),
			"bring the file back from a backup, or move it away to become another witness")
	}
	return s, nil
}

// ownWitness returns the witness key of this node and makes it where there is
// none yet.
func (n *Node) ownWitness() (*proof.CosignSigner, error) {
	n.witnessMu.Lock()
	defer n.witnessMu.Unlock()
	s, err := n.loadWitness()
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	var seed [32]byte
	rand.Read(seed[:]) // never fails: crypto/rand
	if s, err = proof.NewCosignSigner(n.id, seed); err != nil {
		return nil, err
	}
	if err := writeNew(n.home.WitnessKey(), []byte(s.PrivateKey()+"\n")); err != nil {
		return nil, fmt.Errorf("write witness key: %w", err)
	}
	n.shared.Corpora().SetWitnesses(n.witnesses, s)
	return s, nil
}

// WitnessKey implements [api.Network].
func (n *Node) WitnessKey(context.Context) (api.WitnessKeyResult, error) {
	s, err := n.ownWitness()
	if err != nil {
		return api.WitnessKeyResult{}, explain(err)
	}
	return api.WitnessKeyResult{Name: s.Name(), Key: s.Cosigner().String()}, nil
}

// WitnessCorpus implements [api.Corpora].
func (n *Node) WitnessCorpus(ctx context.Context, req api.WitnessRequest) (api.CorpusInfo, error) {
	info, err := n.lookupCorpus(ctx, req.Corpus)
	if err != nil {
		return api.CorpusInfo{}, err
	}
	if info.Own && !req.Off {
		return api.CorpusInfo{}, api.NewError(api.CodeDenied,
			fmt.Errorf("witness corpus %s: this node publishes it, and a publisher that vouches for its own log adds nothing to its signature", info.Name),
			"witness a corpus that you follow, by its origin PEER/NAME; for this one ask a follower to run: arborist corpus witness "+info.Origin)
	}
	if !req.Off {
		if _, err := n.ownWitness(); err != nil {
			return api.CorpusInfo{}, explain(err)
		}
	}
	if err := n.shared.Corpora().Witness(ctx, info.Origin, !req.Off); err != nil {
		return api.CorpusInfo{}, explain(err)
	}
	if info, err = n.lookupCorpus(ctx, info.Origin); err != nil {
		return api.CorpusInfo{}, err
	}
	return n.witnessedInfo(ctx, info)
}

// witnessedInfo describes a corpus with the witnesses of its head.
func (n *Node) witnessedInfo(ctx context.Context, c corpus.Info) (api.CorpusInfo, error) {
	res := corpusInfo(c)
	res.Witnesses = []api.WitnessInfo{}
	found, err := n.shared.Corpora().Cosignatures(ctx, c.Origin)
	if err != nil && !errors.Is(err, corpus.ErrNotFound) {
		return res, explain(err)
	}
	for _, w := range found {
		res.Witnesses = append(res.Witnesses, api.WitnessInfo{Name: w.Name, Time: w.Time()})
	}
	return res, nil
}
