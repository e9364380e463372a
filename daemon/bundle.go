package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// provenLogs holds the log parts of a page of hits, by origin: all of one
// corpus under one signed head.
type provenLogs map[string]*provenLog

type provenLog struct {
	key   *proof.Verifier
	parts map[document.Root]corpus.Proven // without a part for a document that is in no record
}

// part returns the log part of a hit and the key of its corpus, or neither. A
// document that is in no log keeps the short form: a crash between shard and
// log can leave one.
func (l provenLogs) part(h shard.Hit) (*proof.LogPart, *proof.Verifier) {
	log := l[h.Location.Corpus]
	if log == nil || log.parts[h.Root].Part == nil {
		return nil, nil
	}
	return log.parts[h.Root].Part, log.key
}

// provable returns the hits but those whose record is damaged, which it names:
// to show them with less than their proof would hide that.
func (l provenLogs) provable(set *searchSet, hits []shard.Hit) (whole []shard.Hit, damaged []api.Failure) {
	for _, h := range hits {
		if log := l[h.Location.Corpus]; set.source[h.File] == sourceShared && log != nil && log.parts[h.Root].Err != nil {
			damaged = append(damaged, api.Failure{URI: h.Location.URI, Error: log.parts[h.Root].Err.Error(), Next: mendDamaged})
			continue
		}
		whole = append(whole, h)
	}
	return whole, damaged
}

// provable returns the hits that can be shown, with the logs that prove them. Where
// the file of corpora cannot be read, those of shared documents are left out.
func (n *Node) provable(ctx context.Context, set *searchSet, hits []shard.Hit) (whole []shard.Hit, logs provenLogs, refused []api.Failure, err error) {
	why := n.shared.Corpora().Broken()
	if why == nil {
		if logs, err = n.proveLogs(ctx, set, hits); errors.Is(err, corpus.ErrCorrupt) {
			why, err = err, nil
		}
	}
	if why != nil {
		without, f := withoutLogs(set, hits, why)
		f.URI = filepath.Join(n.shared.Dir(), shard.CorporaName)
		return without, nil, []api.Failure{f}, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	whole, refused = logs.provable(set, hits)
	for i := range refused {
		refused[i].Error = filepath.Join(n.shared.Dir(), shard.CorporaName) + ": " + refused[i].Error
	}
	return whole, logs, refused, nil
}

// withoutLogs returns the hits that can be shown where the file of corpora cannot
// be used: those of shared documents lack their proof.
func withoutLogs(set *searchSet, hits []shard.Hit, why error) (whole []shard.Hit, refused api.Failure) {
	whole = slices.DeleteFunc(slices.Clone(hits), func(h shard.Hit) bool { return set.source[h.File] == sourceShared })
	if file := (*shard.FileError)(nil); errors.As(why, &file) { // its path is said apart
		why = file.Err
	}
	refused.Error, refused.Next = why.Error(), mendOf(why)
	if without := len(hits) - len(whole); without > 0 {
		refused.Error = fmt.Sprintf("%d passages of shared documents cannot be proven: %v", without, why)
	}
	return whole, refused
}

// proveLogs proves the records of all shared hits, each corpus in one snapshot.
func (n *Node) proveLogs(ctx context.Context, set *searchSet, hits []shard.Hit) (provenLogs, error) {
	roots := map[string][]document.Root{}
	for _, h := range hits {
		if set.source[h.File] == sourceShared {
			roots[h.Location.Corpus] = append(roots[h.Location.Corpus], h.Root)
		}
	}
	logs := provenLogs{}
	for origin, listed := range roots {
		parts, err := n.shared.Corpora().ProveMany(ctx, origin, listed)
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return nil, explain(err)
		}
		info, err := n.lookupCorpus(ctx, origin)
		if err != nil {
			return nil, err
		}
		log := &provenLog{parts: map[document.Root]corpus.Proven{}}
		if log.key, err = proof.ParseVerifier(info.Key); err != nil {
			return nil, fmt.Errorf("%w: key of %s: %w", corpus.ErrCorrupt, origin, err)
		}
		for i, root := range listed {
			log.parts[root] = parts[i]
		}
		logs[origin] = log
	}
	return logs, nil
}

// bundle puts the verified proofs of a page of hits into one file.
func bundle(proofs []*proof.Proof, hits []api.Hit) (string, error) {
	whole := make([]*proof.Proof, len(proofs))
	for i, p := range proofs {
		with := *p
		with.Text = []byte(hits[i].Text)
		whole[i] = &with
	}
	b, err := proof.NewBundle(whole)
	if err != nil {
		return "", api.NewError(api.CodeInvalid, err, lookForDamage)
	}
	text, err := b.MarshalText()
	if errors.Is(err, proof.ErrTooLarge) {
		return "", api.NewError(api.CodeUsage, err, "ask for fewer hits with --limit")
	}
	if err != nil {
		return "", err
	}
	if !utf8.Valid(text) { // it travels as a JSON string
		return "", api.NewError(api.CodeInvalid, fmt.Errorf("bundle: a passage is not UTF-8"), "leave out the foreign file that it is from")
	}
	return string(text), nil
}
