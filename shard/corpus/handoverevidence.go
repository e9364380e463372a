package corpus

import (
	"context"
	"database/sql"

	"arborist/merkle"
	"arborist/proof"
)

// handoverEvidence returns what shows that the corpus was handed over in another
// history than that of the log here, or than the new head's; nil where nothing
// does. The chain is known and fresh together.
func handoverEvidence(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint, fresh, chain []proof.Rotation, h Handover) (*proof.Evidence, error) {
	var all []proof.Evidence
	t := newTiles(ctx, tx, l.id, l.head.Size)
	own := func(kind proof.EvidenceKind, older []byte, size uint64) error {
		root, err := merkle.RootAt(t, size)
		if err != nil {
			return err
		}
		path, err := merkle.Consistency(t, size, l.head.Size)
		all = append(all, proof.Evidence{Kind: kind, Older: older, Newer: l.note, Root: root, Path: path})
		return err
	}
	theirs := func(kind proof.EvidenceKind, older []byte, size uint64, root merkle.Hash) {
		if r, ok := h.Roots[size]; ok || size == head.Size {
			if size == head.Size {
				r = head.Root
			}
			if r != root {
				all = append(all, proof.Evidence{Kind: kind, Older: older, Newer: h.Note, Root: r, Path: h.Paths[size]})
			}
		}
	}
	for _, r := range fresh {
		if size := r.Head.Size; size > 0 && size <= l.head.Size {
			if err := own(proof.RotationHead, r.Note(), size); err != nil {
				return nil, err
			}
		}
		if r.Head.Size > 0 && r.Head.Size <= head.Size {
			theirs(proof.RotationHead, r.Note(), r.Head.Size, r.Head.Root)
		}
	}
	// Where the rotations fit both, the two logs part after them, or before.
	latest, latestNote, err := l.latest()
	if err != nil {
		return nil, err
	}
	for _, kind := range []proof.EvidenceKind{proof.Equivocation, proof.ReplacedKey} {
		if head.Size > 0 && head.Size < l.head.Size {
			if err := own(kind, h.Note, head.Size); err != nil {
				return nil, err
			}
		}
		if l.head.Size > 0 && l.head.Size <= head.Size {
			theirs(kind, l.note, l.head.Size, l.head.Root)
		}
		if latest.Size > l.head.Size && latest.Size <= head.Size {
			theirs(kind, latestNote, latest.Size, latest.Root)
		}
	}
	v, err := proof.ParseVerifier(l.key)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if _, err := e.Verify(v, chain...); err == nil {
			return &e, nil
		}
	}
	return nil, nil
}

// freezeHandover freezes a corpus whose handover contradicts its log. The
// rotations that it came with are kept with it, because the evidence may be of
// two keys: they show which followed which.
func freezeHandover(ctx context.Context, tx *sql.Tx, l *log, e proof.Evidence, known, fresh []proof.Rotation) (refusal, err error) {
	for i, r := range fresh {
		if err := keepRotation(ctx, tx, l, len(known)+i, r, true); err != nil {
			return nil, err
		}
	}
	if l, err = findLog(ctx, tx, l.origin); err != nil {
		return nil, err
	}
	return freeze(ctx, tx, l, e)
}
