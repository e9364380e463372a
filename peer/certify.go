package peer

import (
	"context"
	"errors"
	"fmt"

	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// Certify signs and stores the key statement of every corpus of this node that
// has none yet, so that [Handler] serves it. A [Peer] does so by itself.
func Certify(ctx context.Context, keyFile string, shared *shard.Shared) error {
	id, err := loadIdentity(keyFile)
	if err != nil {
		return err
	}
	infos, err := shared.Corpora().List(ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		if !info.Own {
			continue
		}
		if _, err := certified(ctx, shared.Corpora(), &id, info.Origin); err != nil {
			return err
		}
	}
	return nil
}

// certified returns the key statement of a corpus: the one that is stored or,
// where id publishes the corpus, a new one, which is stored first.
func certified(ctx context.Context, store *corpus.Store, id *identity, origin string) ([]byte, error) {
	text, err := store.Statement(ctx, origin)
	if id == nil || !errors.Is(err, corpus.ErrNotFound) {
		return text, err
	}
	info, err := store.Lookup(ctx, origin)
	if err != nil {
		return nil, err
	}
	if !info.Own {
		return nil, fmt.Errorf("%w: key statement of %s", corpus.ErrNotFound, origin)
	}
	v, err := proof.ParseVerifier(info.Key)
	if err != nil {
		return nil, fmt.Errorf("certify corpus %s: %w", origin, err)
	}
	if text, err = id.statement(v); err != nil {
		return nil, err
	}
	return text, store.Certify(ctx, origin, text)
}
