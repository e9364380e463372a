package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"arborist/merkle"
	"arborist/proof"
)

// Info describes one corpus as it is stored here.
type Info struct {
	Name      string      // short name, the part of the origin after the publisher
	Origin    string      // "PUBLISHER/NAME", its identity everywhere
	Publisher string      // peer ID
	Key       string      // verifier key, pinned
	Older     []string    // verifier keys that it has replaced, oldest first
	Own       bool        // published by this node
	Size      uint64      // records stored, all of them under the signed head
	Documents uint64      // distinct documents current at that head
	Root      merkle.Hash // of the log of Size records
	Seen      uint64      // size of the greatest head known, at least Size; see [Store.RememberHead]
	Frozen    bool        // takes no more heads; see [Store.Evidence]
	Witness   bool        // this node cosigns each head that it accepts; see [Store.Witness]
}

// A log is the row of one corpus.
type log struct {
	id        int64
	origin    string
	name      string
	key       string
	own       bool
	head      proof.Checkpoint // of what is stored; Size 0 and the empty root before the first
	note      []byte           // signed head, nil before the first
	documents uint64
	staged    uint64 // records stored, signed or not: at least head.Size
	stagedDoc uint64 // documents current after the staged records
	seen      []byte // greatest head known, where it is above head; nil otherwise
	older     string // keys that were replaced, oldest first, a space between
	frozen    int64  // number of the evidence, 0 while the corpus is not frozen
	witness   bool   // each accepted head is cosigned
	cosigned  []byte // text of the last checkpoint cosigned, nil before the first
}

const logColumns = "id, origin, name, key, own, size, root, note, documents, staged, staged_documents, seen, coalesce(frozen, 0), " +
	"coalesce((SELECT active <> 0 FROM witness WHERE witness.corpus = corpus.id), 0), (SELECT cosigned FROM witness WHERE witness.corpus = corpus.id), " +
	"coalesce((SELECT group_concat(old, ' ') FROM (SELECT old FROM rotation WHERE rotation.corpus = corpus.id AND seq >= 0 ORDER BY seq)), '')"

func scanLog(row interface{ Scan(...any) error }) (*log, error) {
	var l log
	var root []byte
	err := row.Scan(&l.id, &l.origin, &l.name, &l.key, &l.own, &l.head.Size, &root, &l.note,
		&l.documents, &l.staged, &l.stagedDoc, &l.seen, &l.frozen, &l.witness, &l.cosigned, &l.older)
	if err != nil {
		return nil, err
	}
	if len(root) != merkle.HashSize {
		return nil, fmt.Errorf("%w: root of %s has %d bytes", ErrCorrupt, l.origin, len(root))
	}
	l.head.Origin, l.head.Root = l.origin, merkle.Hash(root)
	return &l, nil
}

// findLog returns the log with this origin, or ErrNotFound.
func findLog(ctx context.Context, tx *sql.Tx, origin string) (*log, error) {
	l, err := scanLog(tx.QueryRowContext(ctx, "SELECT "+logColumns+" FROM corpus WHERE origin = ?", origin))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notListed(ctx, tx, origin)
	}
	if err != nil {
		return nil, err
	}
	return l, l.answers(origin)
}

// answers fails where the row of a log is not the one that a name was looked up for:
// an index of the list of corpora leads to another one's.
func (l *log) answers(nameOrOrigin string) error {
	if l.origin != nameOrOrigin && l.name != nameOrOrigin {
		return fmt.Errorf("%w: an index of the list of corpora leads from %.200q to %.200q", ErrCorrupt, nameOrOrigin, l.origin)
	}
	return l.checkName()
}

// checkName fails where the row of a log does not have the name that its origin ends in.
func (l *log) checkName() error {
	if !strings.HasSuffix(l.origin, "/"+l.name) {
		return fmt.Errorf("%w: the row of %.200q in the list of corpora has the name %.200q", ErrCorrupt, l.origin, l.name)
	}
	return nil
}

// notListed says why no index of the list of corpora has a name or an origin:
// [ErrNotFound], or [ErrCorrupt] where the list itself has it.
func notListed(ctx context.Context, tx *sql.Tx, nameOrOrigin string) error {
	var there bool
	err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM corpus NOT INDEXED WHERE origin = ?1 OR own = 1 AND name = ?1)", nameOrOrigin).Scan(&there)
	switch {
	case err != nil:
		return err
	case there:
		return fmt.Errorf("%w: an index of the list of corpora lacks %.200q", ErrCorrupt, nameOrOrigin)
	}
	return fmt.Errorf("%w: no corpus %.200q here", ErrNotFound, nameOrOrigin)
}

// allLogs returns every log, our own first, then by origin.
func allLogs(ctx context.Context, tx *sql.Tx) (logs []*log, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT "+logColumns+" FROM corpus ORDER BY own DESC, origin")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		l, err := scanLog(rows)
		if err != nil {
			return nil, err
		}
		logs = append(logs, l)
	}
	return logs, rows.Err()
}

// latest returns the greatest head known: that of the stored log or one that
// was remembered above it.
func (l *log) latest() (proof.Checkpoint, []byte, error) {
	if l.seen == nil {
		return l.head, l.note, nil
	}
	c, err := proof.ReadCheckpoint(l.seen) // verified before it was stored
	if err != nil {
		return c, nil, fmt.Errorf("%w: remembered head of %s: %w", ErrCorrupt, l.origin, err)
	}
	return c, l.seen, nil
}

func (l *log) info() (Info, error) {
	publisher, _, err := splitOrigin(l.origin)
	if err != nil {
		return Info{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	latest, _, err := l.latest()
	if err != nil {
		return Info{}, err
	}
	return Info{
		Name: l.name, Origin: l.origin, Publisher: publisher, Key: l.key, Older: l.olderKeys(), Own: l.own,
		Size: l.head.Size, Documents: l.documents, Root: l.head.Root,
		Seen: latest.Size, Frozen: l.frozen != 0, Witness: l.witness && !l.own,
	}, nil
}

// Create makes a corpus of this node, empty and without a head, whose records
// the key v will sign. The key's name is the origin, "PUBLISHER/NAME", and name
// its last part. Creating it again with the same key changes nothing; another
// key is refused with [ErrKey].
func (s *Store) Create(ctx context.Context, name string, v *proof.Verifier) (Info, error) {
	info, err := s.create(ctx, name, v)
	if err != nil {
		return Info{}, fmt.Errorf("create corpus %.80q: %w", name, err)
	}
	return info, nil
}

func (s *Store) create(ctx context.Context, name string, v *proof.Verifier) (info Info, err error) {
	_, last, err := splitOrigin(v.Name())
	if err != nil {
		return info, err
	}
	if last != name {
		return info, fmt.Errorf("%w: the key is for %q", ErrName, v.Name())
	}
	err = s.update(ctx, func(tx *sql.Tx) error {
		var origin string
		err := tx.QueryRowContext(ctx, "SELECT origin FROM corpus WHERE own = 1 AND name = ?", name).Scan(&origin)
		if err == nil && origin != v.Name() {
			return fmt.Errorf("%w: this node has it as %s", ErrKey, origin)
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		info, err = pin(ctx, tx, v, true)
		return err
	})
	return info, err
}

// Follow makes a place for a corpus that another node publishes and pins its
// key: from now on v is the only key whose heads count. Following it again
// changes nothing; another key is refused with [ErrKey].
func (s *Store) Follow(ctx context.Context, v *proof.Verifier) (info Info, err error) {
	err = s.update(ctx, func(tx *sql.Tx) error {
		info, err = pin(ctx, tx, v, false)
		return err
	})
	if err != nil {
		return Info{}, fmt.Errorf("follow corpus %.200q: %w", v.Name(), err)
	}
	return info, nil
}

// pin finds or makes the corpus of a key. A corpus that was followed becomes
// our own when its key comes back to us, never the other way round.
func pin(ctx context.Context, tx *sql.Tx, v *proof.Verifier, own bool) (Info, error) {
	_, name, err := splitOrigin(v.Name())
	if err != nil {
		return Info{}, err
	}
	if err := checkListed(ctx, tx); err != nil {
		return Info{}, err
	}
	empty := merkle.EmptyRoot()
	_, err = tx.ExecContext(ctx, `INSERT INTO corpus (origin, name, key, own, size, root, documents, staged, staged_documents)
		VALUES (?, ?, ?, ?, 0, ?, 0, 0, 0)
		ON CONFLICT (origin) DO UPDATE SET own = 1 WHERE excluded.own = 1 AND own = 0 AND key = excluded.key`,
		v.Name(), name, v.String(), own, empty[:])
	if err != nil {
		return Info{}, err
	}
	l, err := findLog(ctx, tx, v.Name())
	if err != nil {
		return Info{}, err
	}
	if l.key != v.String() {
		// A key says itself whether a disk has changed it: then nobody is to blame.
		if pinned, err := proof.ParseVerifier(l.key); err != nil || pinned.Name() != l.origin {
			return Info{}, fmt.Errorf("%w: the key of %s is none: %.200q", ErrCorrupt, l.origin, l.key)
		}
		return Info{}, fmt.Errorf("%w: %s was pinned first, %s is refused", ErrKey, l.key, v.String())
	}
	return l.info()
}

// MayCreate fails with [ErrCorrupt] where no corpus can be made, or followed, before
// the file is mended: it has records of one whose row is lost.
func (s *Store) MayCreate(ctx context.Context) error {
	return s.view(ctx, func(tx *sql.Tx) error { return checkListed(ctx, tx) })
}

// List describes every corpus, our own first, then by origin.
func (s *Store) List(ctx context.Context) ([]Info, error) {
	var infos []Info
	err := s.view(ctx, func(tx *sql.Tx) error {
		logs, err := allLogs(ctx, tx)
		if err != nil {
			return err
		}
		for _, l := range logs {
			info, err := l.info()
			if err != nil {
				return err
			}
			infos = append(infos, info)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list corpora: %w", err)
	}
	return infos, nil
}

// Lookup describes the corpus with this origin or, among our own, with this
// short name. It fails with [ErrNotFound].
func (s *Store) Lookup(ctx context.Context, nameOrOrigin string) (info Info, err error) {
	err = s.view(ctx, func(tx *sql.Tx) error {
		// An origin has a slash in it and a name has none.
		row := tx.QueryRowContext(ctx, "SELECT "+logColumns+" FROM corpus WHERE origin = ?1 OR (own = 1 AND name = ?1)", nameOrOrigin)
		l, err := scanLog(row)
		if errors.Is(err, sql.ErrNoRows) {
			return notListed(ctx, tx, nameOrOrigin)
		}
		if err == nil {
			err = l.answers(nameOrOrigin)
		}
		if err != nil {
			return err
		}
		info, err = l.info()
		return err
	})
	if err != nil {
		return Info{}, fmt.Errorf("look up corpus: %w", err)
	}
	return info, nil
}
