package daemon

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"

	"arborist/daemon/api"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// maxKeyFile is far more than a signing key takes.
const maxKeyFile = 4096

// corpusName is what a corpus can be called: it stands in file names, URLs and
// key names.
var errCorpusName = errors.New("a corpus name has 1 to 32 of a-z, 0-9 and hyphens, and starts with a letter")

func checkCorpusName(name string) error {
	if ok, _ := regexp.MatchString(`^[a-z][a-z0-9-]{0,31}$`, name); !ok {
		return api.NewError(api.CodeUsage, fmt.Errorf("name corpus %.40q: %w", name, errCorpusName), "for example: arborist corpus create papers")
	}
	return nil
}

// createCorpus makes one of our own corpora with its key; where it is there
// already, it changes nothing.
func createCorpus(ctx context.Context, home Home, shared *shard.Shared, peerID, name string) (corpus.Info, error) {
	if err := checkCorpusName(name); err != nil {
		return corpus.Info{}, err
	}
	signer, err := firstSigner(ctx, home, shared, peerID, name)
	if err != nil {
		return corpus.Info{}, err
	}
	info, err := shared.Corpora().Create(ctx, name, signer.Verifier())
	if err != nil {
		return corpus.Info{}, explain(err)
	}
	return info, nil
}

// firstSigner returns the key of an own corpus that is made or made again. A
// corpus that is there has its key or had one, in place of which no other comes.
func firstSigner(ctx context.Context, home Home, shared *shard.Shared, peerID, name string) (*proof.Signer, error) {
	info, err := shared.Corpora().Lookup(ctx, name)
	if err != nil && !isNotFound(err) {
		return nil, explain(err) // whether it is there is not known
	}
	if err == nil && info.Own {
		// It may have changed its key, and a kill have left the files half named.
		if err := settleKeys(home, info); err != nil {
			return nil, err
		}
		present, _, err := corpusSigners(home, info)
		return present, err
	}
	path := home.CorpusKey(name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		var seed [32]byte
		rand.Read(seed[:]) // never fails: crypto/rand
		s, err := proof.NewSigner(peerID+"/"+name, seed)
		if err != nil {
			return nil, err
		}
		if err := writeNew(path, []byte(s.PrivateKey()+"\n")); err != nil {
			return nil, fmt.Errorf("write key of corpus %s: %w", name, err)
		}
	}
	return loadSigner(home, name)
}

// loadSigner reads the signing key of one of our own corpora.
func loadSigner(home Home, name string) (*proof.Signer, error) {
	s, err := readSigner(home.CorpusKey(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read key of corpus %s: %w", name, err)
	}
	return s, err
}

func readSigner(path string) (*proof.Signer, error) {
	b, err := readSmall(path, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read key of corpus: %w", err)
	}
	s, err := proof.ParseSigner(trimNewline(b))
	if err != nil {
		return nil, api.NewError(api.CodeInvalid, fmt.Errorf("read key %s: %w", path, err), "restore the key file from a backup: without it the corpus cannot grow")
	}
	return s, nil
}

// left reports whether a corpus is known and not followed: of which a first sync
// has not ended, or that the owner follows no more.
func left(c corpus.Info) bool { return !c.Own && c.Size == 0 && !c.Frozen }

// ListCorpora implements [api.Corpora].
func (n *Node) ListCorpora(ctx context.Context) (api.CorporaResult, error) {
	infos, err := n.shared.Corpora().List(ctx)
	if err != nil {
		return api.CorporaResult{}, explain(err)
	}
	res := api.CorporaResult{Corpora: []api.CorpusInfo{}}
	for _, c := range infos {
		if left(c) {
			continue
		}
		info, err := n.describe(ctx, c)
		if err != nil {
			return api.CorporaResult{}, err
		}
		info.Problem = n.corpusProblem(c, frozenBy(info))
		res.Corpora = append(res.Corpora, info)
	}
	return res, nil
}

// CreateCorpus implements [api.Corpora].
func (n *Node) CreateCorpus(ctx context.Context, name string) (api.CorpusInfo, error) {
	info, err := createCorpus(ctx, n.home, n.shared, n.id, name)
	if err != nil {
		return api.CorpusInfo{}, err
	}
	return corpusInfo(info), nil
}

// CorpusKey implements [api.Corpora].
func (n *Node) CorpusKey(ctx context.Context, name string) (api.CorpusKeyResult, error) {
	info, err := n.lookupCorpus(ctx, name)
	if err != nil {
		return api.CorpusKeyResult{}, err
	}
	return api.CorpusKeyResult{Name: info.Name, Key: info.Key}, nil
}

// lookupCorpus finds a corpus by short name or origin.
func (n *Node) lookupCorpus(ctx context.Context, name string) (corpus.Info, error) {
	info, err := n.shared.Corpora().Lookup(ctx, name)
	if errors.Is(err, corpus.ErrNotFound) {
		if lost, err := n.lostLogs(ctx); err == nil && slices.Contains(lost, name) {
			return info, api.NewError(api.CodeInvalid, errors.New(n.lostLogProblem(name)), mendLostLog)
		}
		return info, api.NewError(api.CodeNotFound, fmt.Errorf("no corpus %q on this node", name), n.namedSo(ctx, name))
	}
	return info, explain(err)
}

// namedSo is the next step for whoever asked for a corpus that is not here. The
// short name of a followed corpus names nothing, since others can have the same.
func (n *Node) namedSo(ctx context.Context, name string) string {
	if origin := n.followedAs(ctx, name); origin != "" {
		return "a followed corpus is named by its origin: " + origin
	}
	return "see which there are: arborist corpus list; make a new one: arborist corpus create NAME"
}

// followedAs returns the origin of a followed corpus with a short name, "" where none has it.
func (n *Node) followedAs(ctx context.Context, name string) (origin string) {
	all, err := n.shared.Corpora().List(ctx)
	if err != nil {
		return ""
	}
	for _, c := range all {
		if !c.Own && c.Name == name && !left(c) {
			return c.Origin
		}
	}
	return ""
}

func corpusInfo(c corpus.Info) api.CorpusInfo {
	return api.CorpusInfo{
		Name: c.Name, Publisher: c.Publisher, Origin: c.Origin,
		Size: c.Size, Documents: c.Documents, Own: c.Own, Witness: c.Witness,
		Head: base64.StdEncoding.EncodeToString(c.Root[:]),
		Key:  c.Key, ReplacedKeys: c.Older,
	}
}
