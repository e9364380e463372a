package peer

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

const (
	// maxBlocks is how many blocks are found by their hashes, at 12 bytes each.
	maxBlocks = 8 << 20
	// blocksPause is how soon after a look at the logs the next one may come.
	blocksPause = 5 * time.Second
)

// errBlocks: there are more blocks than are kept in mind.
var errBlocks = fmt.Errorf("over %d blocks: documents beyond are not served as blocks", maxBlocks)

// blocks finds the documents of served corpora by the hashes of their leaves and
// tree nodes. It is made when it is first asked, and grows with the logs. It only
// says where to look: what is served is read, and hashes to what was asked for.
type blocks struct {
	shared *shard.Shared

	mu     sync.Mutex // held while the logs are read, and while a turn for that is waited for
	looked time.Time
	sizes  map[string]uint64 // records that were read, by origin
	known  map[document.Root]bool
	homes  []blockHome
	keys   []blockKey // sorted by hash
}

// A blockWork is the work of looking for a block, for somebody.
type blockWork struct {
	turn   func(context.Context) (end func(), err error) // waits for a turn; see [turns.take]
	hashed func(leaves int)                              // is told of each tree that is looked through
}

// A blockHome is a document and a corpus that lists it.
type blockHome struct {
	origin string
	root   document.Root
}

// A blockKey is the start of a block's hash, and the number of its home.
type blockKey struct {
	hash [8]byte
	home uint32
}

// homesOf returns documents that may have a block of that hash.
func (b *blocks) homesOf(ctx context.Context, hash merkle.Hash, w blockWork) (homes []blockHome, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.looked) >= blocksPause {
		err = b.look(ctx, w)
		if err == nil || errors.Is(err, errBlocks) {
			b.looked = time.Now()
		}
	}
	if err != nil && !errors.Is(err, errBlocks) {
		return nil, err
	}
	at, _ := slices.BinarySearchFunc(b.keys, hash, func(k blockKey, h merkle.Hash) int { return slices.Compare(k.hash[:], h[:8]) })
	for ; at < len(b.keys) && b.keys[at].hash == [8]byte(hash[:8]); at++ {
		homes = append(homes, b.homes[b.keys[at].home])
	}
	return homes, nil
}

// look reads what the logs have more than before. A corpus that is not served any
// more takes its documents along.
func (b *blocks) look(ctx context.Context, w blockWork) error {
	infos, err := b.shared.Corpora().List(ctx)
	if err != nil {
		return err
	}
	sizes := make(map[string]uint64)
	for _, info := range infos {
		if served(info) {
			sizes[info.Origin] = info.Size
		}
	}
	for origin, size := range b.sizes {
		if sizes[origin] < size {
			b.sizes, b.known, b.homes, b.keys = nil, nil, nil, nil
			break
		}
	}
	if b.sizes == nil {
		b.sizes, b.known = make(map[string]uint64), make(map[document.Root]bool)
	}
	grown := false
	for origin, size := range sizes {
		for b.sizes[origin] < size && err == nil {
			grown = true
			err = b.read(ctx, origin, min(size, b.sizes[origin]+tileWidth), w)
		}
	}
	if grown {
		slices.SortFunc(b.keys, func(x, y blockKey) int {
			return cmp.Compare(binary.BigEndian.Uint64(x.hash[:]), binary.BigEndian.Uint64(y.hash[:]))
		})
	}
	return err
}

// read adds the documents that the records of a corpus up to a number list, in a turn
// of its own: a whole log would keep others waiting.
func (b *blocks) read(ctx context.Context, origin string, to uint64, w blockWork) error {
	end, err := w.turn(ctx)
	if err != nil {
		return err
	}
	defer end()
	records, err := b.shared.Corpora().Records(ctx, origin, b.sizes[origin], to)
	if err != nil {
		return err
	}
	for _, r := range records {
		root := r.Header.Root
		if r.Op == proof.OpWithdraw || b.known[root] {
			continue
		}
		if uint64(len(b.keys))+2*r.Header.Chunks > maxBlocks {
			return errBlocks
		}
		leaves, err := b.shared.Leaves(ctx, root)
		if errors.Is(err, shard.ErrNotFound) || errors.Is(err, shard.ErrCorrupt) {
			continue // check tells of it
		}
		if err != nil {
			return err
		}
		b.known[root] = true
		home := uint32(len(b.homes))
		b.homes = append(b.homes, blockHome{origin, root})
		for _, leaf := range leaves {
			b.keys = append(b.keys, blockKey{[8]byte(leaf[:8]), home})
		}
		merkle.EachNode(leaves, func(node, _, _ merkle.Hash) bool {
			b.keys = append(b.keys, blockKey{[8]byte(node[:8]), home})
			return true
		})
	}
	b.sizes[origin] = to
	return nil
}

// block returns the block of a hash that a served corpus lists: what was hashed.
// It fails with [corpus.ErrNotFound].
func (b *blocks) block(ctx context.Context, hash merkle.Hash, w blockWork) ([]byte, error) {
	homes, err := b.homesOf(ctx, hash, w)
	if err != nil {
		return nil, err
	}
	end, err := w.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	for _, home := range homes {
		// Asked again, because a corpus may have gone since.
		if _, err := b.shared.Corpora().Prove(ctx, home.origin, home.root); errors.Is(err, corpus.ErrNotFound) {
			continue
		} else if err != nil {
			return nil, err
		}
		block, err := b.blockOf(ctx, home.root, hash, w.hashed)
		if block != nil || err != nil {
			return block, err
		}
	}
	return nil, fmt.Errorf("block %s: %w", document.Root(hash), corpus.ErrNotFound)
}

// blockOf returns the block of a hash in one document, nil where it has none.
func (b *blocks) blockOf(ctx context.Context, root document.Root, hash merkle.Hash, hashed func(int)) (block []byte, err error) {
	leaves, err := b.shared.Leaves(ctx, root)
	if err != nil {
		return nil, err
	}
	hashed(len(leaves))
	if i := slices.Index(leaves, hash); i >= 0 {
		passage, err := b.shared.Passage(ctx, root, uint64(i))
		return append([]byte{0}, passage.Text...), err
	}
	merkle.EachNode(leaves, func(node, left, right merkle.Hash) bool {
		if node == hash {
			block = slices.Concat([]byte{1}, left[:], right[:])
		}
		return block == nil
	})
	return block, nil
}
