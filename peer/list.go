package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A CorpusInfo is a corpus that a source says it serves. Only the name and
// publisher within the origin can be relied on.
type CorpusInfo struct {
	Name      string
	Publisher string
	Origin    string
	Size      uint64
	Documents uint64
	Head      string // root of the log, base64
	Peer      string // the source
}

// Corpora lists what a source serves: a peer ID, full multiaddr or URL. The
// empty source stands for all connected peers; those that do not answer are
// left out then, unless none does.
func (p *Peer) Corpora(ctx context.Context, from string) ([]CorpusInfo, error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	sources := []string{from}
	if from == "" {
		sources = nil
		for _, peer := range p.Peers() {
			sources = append(sources, peer.ID)
		}
	}
	all := []CorpusInfo{}
	var failed error
	answered := len(sources) == 0
	for _, from := range sources {
		list, err := p.corpora(ctx, from)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("list corpora of %s: %w", from, err))
			continue
		}
		answered = true
		all = append(all, list...)
	}
	if !answered {
		return nil, failed
	}
	return all, nil
}

func (p *Peer) corpora(ctx context.Context, from string) ([]CorpusInfo, error) {
	src, err := p.open(ctx, from)
	if err != nil {
		return nil, err
	}
	defer src.close()
	list, err := src.corpora(ctx)
	if id, idErr := parsePeerID(src.name); err == nil && idErr == nil {
		origins := make([]string, len(list))
		for i, c := range list {
			origins[i] = c.Origin
		}
		p.table.serving(id, origins...)
	}
	return list, err
}

// corpora reads the list of corpora. One that is not well formed in it spoils
// the list: an honest server has none.
func (s *source) corpora(ctx context.Context) ([]CorpusInfo, error) {
	res := resource{kind: kindCorpora}
	raw, err := s.get(ctx, res, maxCorpusList)
	if err != nil {
		return nil, err
	}
	var list listings
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, s.fail(ctx, res, fmt.Errorf("%w: %w", ErrMalformed, err))
	}
	infos := make([]CorpusInfo, len(list.Corpora))
	for i, c := range list.Corpora {
		id, err := ParseCorpusID(c.Origin)
		if err != nil {
			return nil, s.fail(ctx, res, fmt.Errorf("%w: %w", ErrMalformed, err))
		}
		if len(c.Head) > 64 {
			return nil, s.fail(ctx, res, fmt.Errorf("%w: head of %s", ErrMalformed, id))
		}
		infos[i] = CorpusInfo{
			Name: id.Name(), Publisher: id.Publisher(), Origin: c.Origin,
			Size: c.Size, Documents: c.Documents, Head: c.Head, Peer: s.name,
		}
	}
	return infos, nil
}

// resolve finds the corpus that a name or origin stands for at this source.
func (s *source) resolve(ctx context.Context, name string) (CorpusID, error) {
	if strings.Contains(name, "/") {
		return ParseCorpusID(name)
	}
	list, err := s.corpora(ctx)
	if err != nil {
		return CorpusID{}, err
	}
	found := make(map[string]bool)
	for _, c := range list {
		if c.Name == name {
			found[c.Origin] = true
		}
	}
	origins := slices.Sorted(maps.Keys(found))
	switch len(origins) {
	case 0:
		return CorpusID{}, fmt.Errorf("%w: %q at %s", ErrNoCorpus, name, s.name)
	case 1:
		return ParseCorpusID(origins[0])
	default:
		return CorpusID{}, fmt.Errorf("%w: %s", ErrAmbiguous, strings.Join(origins[:min(len(origins), 8)], ", "))
	}
}
