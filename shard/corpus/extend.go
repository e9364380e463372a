package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"

	"arborist/merkle"
	"arborist/proof"
)

const (
	// batchLines and batchBytes bound what one step of an Extend holds in memory
	// and in one transaction.
	batchLines = 1024
	batchBytes = 1 << 20
)

// Extend brings a followed log up to a newer signed head: lines are the
// records from [Info.Size] up to that head, exactly. Nothing of them becomes
// visible unless the pinned key signed the head, the stored log with the lines
// hashes to the signed root, and each line is a record that may stand where it
// stands. What becomes visible is durable on return. The head that is in force
// already is accepted without lines and changes nothing but that cosignatures
// of known witnesses are added to those that are stored.
//
// Of the note, the lines of the corpus's key and of known witnesses are stored.
// A witness ([Store.Witness]) cosigns the head.
//
// For an own corpus it brings back what an old backup, or damage, has lost. There a
// head below the last one known is taken too: what is behind it may come from
// elsewhere, and is added at once where a [Rescue] has kept it; the head that is
// returned is that of all.
//
// It fails with [ErrNotFound], [ErrRollback], [ErrEquivocation], [ErrFrozen],
// [ErrMismatch], [ErrRecord], [io.ErrUnexpectedEOF] where lines are missing,
// and the errors of [proof.OpenCheckpoint].
func (s *Store) Extend(ctx context.Context, origin string, note []byte, lines [][]byte) (proof.Checkpoint, error) {
	info, err := s.Lookup(ctx, origin)
	if err != nil {
		return proof.Checkpoint{}, fmt.Errorf("extend corpus %.200q: %w", origin, err)
	}
	return s.ExtendFrom(ctx, origin, note, func(from uint64) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for i := from - min(from, info.Size); i < uint64(len(lines)); i++ {
				if !yield(lines[i], nil) {
					return
				}
			}
		}
	})
}

// ExtendFrom is [Store.Extend] for logs of any length: it asks lines for the
// records from an index on and takes them step by step in bounded memory. The
// writer is free while it waits for the next line.
//
// A call that is cut (by an error of lines, the end of ctx, a crash) leaves
// the old head in force and the lines so far staged, unseen; the next call
// asks lines for what is still missing. Where lines that an earlier call had
// staged turn out not to belong to the signed head, they are thrown away and
// lines is asked once more, from [Info.Size]. The slices that lines yields may
// be reused by it.
//
// Calls for one log wait for each other.
func (s *Store) ExtendFrom(ctx context.Context, origin string, note []byte,
	lines func(from uint64) iter.Seq2[[]byte, error],
) (proof.Checkpoint, error) {
	// Only corpora that are here get a lock: there is no end to other names.
	_, err := s.Lookup(ctx, origin)
	if err != nil {
		return proof.Checkpoint{}, fmt.Errorf("extend corpus %.200q: %w", origin, err)
	}
	release, err := s.hold(ctx, origin)
	if err != nil {
		return proof.Checkpoint{}, fmt.Errorf("extend corpus %.200q: %w", origin, err)
	}
	defer release()
	head, err := s.extend(ctx, origin, note, lines)
	if err == nil {
		head, err = s.fill(ctx, origin, head)
	}
	if err != nil {
		return proof.Checkpoint{}, fmt.Errorf("extend corpus %.200q: %w", origin, err)
	}
	return head, s.Reconcile(context.WithoutCancel(ctx), origin) // keeps the head of an own corpus
}

func (s *Store) extend(ctx context.Context, origin string, note []byte, lines func(uint64) iter.Seq2[[]byte, error]) (proof.Checkpoint, error) {
	var size, staged uint64
	head, err := s.judge(ctx, origin, note, func(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint) (refusal, err error) {
		size, staged = l.head.Size, l.staged
		latest, _, err := l.latest()
		if err != nil {
			return nil, err
		}
		if l.own && head.Size > latest.Size {
			// Our own key has signed more than we have: no Append until it is back.
			return nil, s.remember(ctx, tx, l, note)
		}
		if head.Size == size {
			return nil, s.merge(ctx, tx, l, head, note)
		}
		return nil, nil
	})
	if err != nil {
		return head, err
	}
	if head.Size == size {
		return head, nil
	}
	for {
		if staged > head.Size {
			err = ErrMismatch // what is staged came under a later head than this
		} else {
			err = s.follow(ctx, origin, head, note, staged, lines)
		}
		forked := errors.Is(err, ErrEquivocation)
		if !forked && !errors.Is(err, ErrMismatch) && !errors.Is(err, ErrRecord) {
			return head, err
		}
		if err := s.discard(ctx, origin); err != nil {
			return head, err
		}
		if forked || staged == size {
			return head, err
		}
		staged = size // the fault may lie with what an earlier call had staged
	}
}

// follow stages lines from index from on and makes note the head with the
// last of them.
func (s *Store) follow(ctx context.Context, origin string, head proof.Checkpoint, note []byte, from uint64,
	lines func(uint64) iter.Seq2[[]byte, error],
) error {
	st := step{store: s, origin: origin, at: from}
	if from < head.Size {
		for line, err := range lines(from) {
			if err != nil {
				// Keep what has come: the next call need not fetch it again.
				return errors.Join(fmt.Errorf("record %d: %w", st.end(), err), st.stage(context.WithoutCancel(ctx), nil, nil))
			}
			if st.end() == head.Size {
				return fmt.Errorf("%w: more lines than the %d records of the head", ErrMismatch, head.Size)
			}
			if st.full() {
				if err := st.stage(ctx, nil, nil); err != nil {
					return err
				}
			}
			if err := st.add(line); err != nil {
				return err
			}
		}
	}
	if st.end() < head.Size {
		return errors.Join(fmt.Errorf("%w: lines end at record %d of %d", io.ErrUnexpectedEOF, st.end(), head.Size), st.stage(ctx, nil, nil))
	}
	return st.stage(ctx, &head, note)
}

// A step is the lines that the next transaction will stage.
type step struct {
	store  *Store
	origin string
	at     uint64 // index of the first line
	lines  [][]byte
	bytes  int
}

func (st *step) end() uint64 { return st.at + uint64(len(st.lines)) }

func (st *step) full() bool { return len(st.lines) >= batchLines || st.bytes >= batchBytes }

func (st *step) add(line []byte) error {
	if len(line) > proof.MaxRecord {
		return fmt.Errorf("%w: line %d has %d bytes, at most %d", ErrRecord, st.end(), len(line), proof.MaxRecord)
	}
	st.lines = append(st.lines, append([]byte(nil), line...))
	st.bytes += len(line)
	return nil
}

// stage writes the lines behind the staged end and, where head is given, moves
// the head of the log to it.
func (st *step) stage(ctx context.Context, head *proof.Checkpoint, note []byte) error {
	if len(st.lines) == 0 && head == nil {
		return nil
	}
	var refusal error
	err := st.store.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, st.origin)
		if err != nil {
			return err
		}
		if l.staged != st.at {
			return fmt.Errorf("%d records are staged, expected %d: the log was changed meanwhile, try again", l.staged, st.at)
		}
		a, err := st.store.newAppender(ctx, tx, l)
		if err != nil {
			return err
		}
		for _, line := range st.lines {
			if err := a.take(line); err != nil {
				return fmt.Errorf("record %d: %w", a.edge.size, err)
			}
		}
		if err := a.flush(); err != nil {
			return err
		}
		if head != nil {
			refusal, err = st.store.moveHead(a, *head, note)
		}
		return err
	})
	if err != nil {
		return err
	}
	st.at, st.lines, st.bytes = st.end(), st.lines[:0], 0
	if refusal != nil {
		return errors.Join(refusal, st.store.fileEvidence(ctx))
	}
	return nil
}

// take adds a foreign line, which has to be what the log's rule would have
// written there.
func (a *appender) take(line []byte) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	r, err := proof.ParseRecord(line)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	key := uriKey(r.URI)
	was, err := a.standing(key)
	if err != nil {
		return err
	}
	want, changes := next(r, was)
	switch {
	case !changes:
		return fmt.Errorf("%w: %s of %s at %.200q changes nothing there", ErrRecord, r.Op, r.ID, r.URI)
	case r.Op != want.Op || r.Supersedes != want.Supersedes:
		return fmt.Errorf("%w: %s of %s at %.200q does not follow from what is current there", ErrRecord, r.Op, r.ID, r.URI)
	}
	return a.add(line, r, key, was)
}

// moveHead makes a foreign head that of the log, where the log hashes to it
// and a head remembered on the way is met. A witness cosigns it within the
// same transaction: a head without the cosignature is not there, and no
// cosignature leaves before the head is durable.
func (s *Store) moveHead(a *appender, head proof.Checkpoint, note []byte) (refusal, err error) {
	root, err := a.edge.root()
	if err != nil {
		return nil, err
	}
	if root != head.Root {
		return nil, fmt.Errorf("%w: they give root %x at size %d, signed is %x", ErrMismatch, root, head.Size, head.Root)
	}
	latest, latestNote, err := a.log.latest()
	if err != nil {
		return nil, err
	}
	if latest.Size > a.log.head.Size && latest.Size <= head.Size {
		t := newTiles(a.ctx, a.tx, a.log.id, a.edge.size)
		root, err := merkle.RootAt(t, latest.Size)
		if err != nil {
			return nil, err
		}
		if root != latest.Root {
			path, err := merkle.Consistency(t, latest.Size, head.Size)
			if err != nil {
				return nil, err
			}
			return freeze(a.ctx, a.tx, a.log, proof.Evidence{Older: latestNote, Newer: note, Root: root, Path: path})
		}
	}
	kept, err := s.accepted(a, head, note)
	if err != nil {
		return nil, err
	}
	return nil, a.commit(head, kept)
}
