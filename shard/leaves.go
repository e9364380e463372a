package shard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/merkle"
)

// nodeLevel is the level of the hashes that are kept beside the leaves' own.
const nodeLevel = 4

// leafHashes are the stored hashes of a document's tree, as they stand in the
// file: it is for the user to verify what comes of them.
type leafHashes struct{ leaves, nodes []byte }

// hashesOf returns what is stored of a document's tree.
func hashesOf(d *document.Document) (h leafHashes, err error) {
	for i := range uint64(d.Chunks()) {
		leaf, err := d.Tree().Node(0, i)
		if err != nil {
			return h, err
		}
		h.leaves = append(h.leaves, leaf[:]...)
	}
	h.nodes = []byte{} // nil would be NULL
	for i := range uint64(d.Chunks()) >> nodeLevel {
		node, err := d.Tree().Node(nodeLevel, i)
		if err != nil {
			return h, err
		}
		h.nodes = append(h.nodes, node[:]...)
	}
	return h, nil
}

// readHashes reads what is stored of the tree of a document with so many chunks.
func readHashes(ctx context.Context, tx queryer, row docRow) (h leafHashes, err error) {
	err = tx.QueryRowContext(context.WithoutCancel(ctx), "SELECT hashes, nodes FROM leaves WHERE document = ?", row.id).Scan(&h.leaves, &h.nodes)
	if errors.Is(err, sql.ErrNoRows) {
		return h, corrupt("document %s lacks its leaf hashes", row.header.Root)
	}
	if err != nil {
		return h, err
	}
	return h, h.fit(row)
}

// fit refuses hashes that are not as many as the document needs.
func (h leafHashes) fit(row docRow) error {
	n := row.header.Chunks
	if uint64(len(h.leaves)) != n*merkle.HashSize || uint64(len(h.nodes)) != (n>>nodeLevel)*merkle.HashSize {
		return corrupt("document %s has %d and %d bytes of hashes for %d chunks", row.header.Root, len(h.leaves), len(h.nodes), n)
	}
	return nil
}

// Node implements [merkle.NodeReader].
func (h leafHashes) Node(level uint8, index uint64) (merkle.Hash, error) {
	from, at := h.leaves, level
	if level >= nodeLevel {
		from, at = h.nodes, level-nodeLevel
	}
	first, n := index<<at, uint64(1)<<at
	if at > 32 || (first+n)*merkle.HashSize > uint64(len(from)) {
		return merkle.Hash{}, fmt.Errorf("no node %d at level %d", index, level)
	}
	if n == 1 {
		return merkle.Hash(from[first*merkle.HashSize:][:merkle.HashSize]), nil
	}
	hashes := make([]merkle.Hash, n)
	for i := range hashes {
		hashes[i] = merkle.Hash(from[(first+uint64(i))*merkle.HashSize:][:merkle.HashSize])
	}
	for ; n > 1; n /= 2 {
		for i := range n / 2 {
			hashes[i] = merkle.NodeHash(hashes[2*i], hashes[2*i+1])
		}
	}
	return hashes[0], nil
}

// Leaves returns the leaf hashes of a document, which lead to its root. Errors wrap
// [ErrNotFound] or [ErrCorrupt].
func (s *Shared) Leaves(ctx context.Context, root document.Root) (leaves []merkle.Hash, err error) {
	s.gate.enter()
	defer s.gate.leave()
	err = s.home(root).view(ctx, func(tx queryer) error {
		row, err := findDoc(ctx, tx, root)
		if err != nil {
			return err
		}
		h, err := readHashes(ctx, tx, row)
		if err != nil {
			return err
		}
		for i := 0; i < len(h.leaves); i += merkle.HashSize {
			leaves = append(leaves, merkle.Hash(h.leaves[i:][:merkle.HashSize]))
		}
		if merkle.Root(leaves) != merkle.Hash(root) {
			return corrupt("the leaf hashes of document %s do not give its root", root)
		}
		return nil
	})
	return leaves, err
}
