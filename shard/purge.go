package shard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"arborist/document"
	"arborist/shard/corpus"
)

// ErrListed: documents of a corpus cannot be dropped while it is followed.
var ErrListed = errors.New("the corpus is listed here: end its following first")

// A Purged says what [Shared.Purge] dropped, or would drop.
type Purged struct {
	Documents, Chunks, Bytes int64 // dropped; bytes of their text
	Kept                     int64 // documents of the corpus that something else holds
	Before, After            int64 // bytes of the files with their logs; in a dry run both are what they are
}

// PurgeRoom returns how many bytes have to be free to purge: the files are
// written anew one after the other, as by [Shared.Compact].
func (s *Shared) PurgeRoom() (need int64) {
	s.gate.enter()
	defer s.gate.leave()
	for _, f := range s.files {
		need = max(need, f.CompactRoom())
	}
	return need
}

// Purge drops the documents that came with a corpus which is no longer followed,
// and gives their space on the disk back. What any other corpus has a place for
// in the shards, or lists in its log, now or before, stays; of the purged corpus
// nothing stays but that. With dry it says what it would drop, of a corpus that
// is still followed too.
//
// A file of which something is dropped is written anew in one transaction, each
// document hashed and indexed as by a repair, and then compacted: reads go on, a
// Put waits, a crash leaves the file as it was or purged, and the same call again
// does what is left. A damaged document ends the call with [ErrCorrupt] and that
// file as it was. An own corpus and one that lists anything is [ErrListed].
func (s *Shared) Purge(ctx context.Context, origin string, dry bool, progress func(done, total int)) (p Purged, err error) {
	release, err := take(ctx, s.upkeep)
	if err != nil {
		return p, fmt.Errorf("purge: %w", err)
	}
	defer release()
	s.gate.enter()
	defer s.gate.leave()
	if err := s.unbroken(); err != nil {
		return p, fmt.Errorf("purge: %w", err)
	}
	info, err := s.corpora.Lookup(ctx, origin)
	if err == nil && (info.Own || info.Size > 0) && !dry {
		err = fmt.Errorf("%w: %s", ErrListed, origin)
	}
	if err != nil && !errors.Is(err, corpus.ErrNotFound) {
		return p, fmt.Errorf("purge: %w", err)
	}
	for i, f := range s.files {
		if err := f.purge(ctx, s.corpora, origin, dry, &p); err != nil {
			return p, fmt.Errorf("purge: %w", err)
		}
		progress(i+1, len(s.files))
	}
	return p, nil
}

func (f *File) purge(ctx context.Context, logs *corpus.Store, origin string, dry bool, p *Purged) error {
	release, err := take(ctx, f.turn)
	if err != nil {
		return err
	}
	defer release()
	before := sizeWithLog(f.path)
	p.Before += before
	d := dropping{origin: origin, ids: make(map[int64]bool), listed: make(map[int64]bool)}
	if dry {
		err = f.view(ctx, func(tx queryer) error { return d.find(ctx, tx, logs) })
	} else {
		err = f.Write(ctx, func(tx *sql.Tx) error { return f.drop(ctx, tx, logs, &d) })
	}
	if err != nil {
		return err
	}
	p.Documents, p.Chunks, p.Bytes, p.Kept = p.Documents+d.documents, p.Chunks+d.chunks, p.Bytes+d.bytes, p.Kept+d.kept
	if !dry && d.documents > 0 {
		err = f.compact(ctx)
	}
	p.After += sizeWithLog(f.path)
	return err
}

// A dropping is what goes out of one file.
type dropping struct {
	origin                         string
	ids                            map[int64]bool // of documents that go
	listed                         map[int64]bool // of documents that stay because a log lists them, with their places
	documents, chunks, bytes, kept int64
}

// drops reports whether a document goes.
func (d *dropping) drops(doc int64) bool { return d != nil && d.ids[doc] }

// leaves reports whether a place of a document goes.
func (d *dropping) leaves(origin string, doc int64) bool {
	return d != nil && origin == d.origin && !d.listed[doc]
}

// What has a place of the corpus, with whether it has another one too.
const purgeSQL = `SELECT d.id, d.root, d.chunks, d.bytes, EXISTS (SELECT 1 FROM locations o WHERE o.document = d.id AND o.origin <> ?1)
	FROM documents d WHERE d.id IN (SELECT document FROM locations WHERE origin = ?1) ORDER BY d.id`

// find finds what can go in the state that tx sees. A document has its place in
// the shards before any log lists it, so one of a sync under way is held too.
func (d *dropping) find(ctx context.Context, tx queryer, logs *corpus.Store) error {
	var id int64
	err := tx.QueryRowContext(ctx, "SELECT id FROM origins WHERE origin = ?", d.origin).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, purgeSQL, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var doc, chunks, bytes int64
		var root []byte
		var held bool
		if err := rows.Scan(&doc, &root, &chunks, &bytes, &held); err != nil {
			return err
		}
		if held {
			d.kept++
			continue
		}
		if len(root) != len(document.Root{}) {
			return corrupt("a root of %d bytes", len(root))
		}
		now, before, err := logs.Listed(ctx, document.Root(root))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(append(now, before...), func(o string) bool { return o != d.origin }) {
			d.listed[doc] = true
			d.kept++
			continue
		}
		d.ids[doc] = true
		d.documents, d.chunks, d.bytes = d.documents+1, d.chunks+chunks, d.bytes+bytes
	}
	return rows.Err()
}

// drop writes the file anew without what can go.
func (f *File) drop(ctx context.Context, tx *sql.Tx, logs *corpus.Store, d *dropping) error {
	from, end, err := f.snapshot(ctx) // the state that this transaction begins with
	if err != nil {
		return err
	}
	defer end()
	if err := d.find(ctx, from, logs); err != nil {
		return err
	}
	var current int64
	err = from.QueryRowContext(ctx, "SELECT count(*) FROM locations l JOIN origins o ON o.id = l.origin WHERE o.origin = ? AND l.current = 1", d.origin).Scan(&current)
	if err == nil && current > 0 {
		err = fmt.Errorf("%w: %s", ErrListed, d.origin)
	}
	// Nothing goes: neither a document nor a place of one that something else holds.
	if err != nil || d.documents == 0 && d.kept == int64(len(d.listed)) {
		return err
	}
	if _, err := tx.ExecContext(background, emptySQL); err != nil {
		return err
	}
	kept, err := f.rescueInto(ctx, from, f, tx, d)
	switch {
	case err != nil:
		return err
	case len(kept.lost) > 0:
		return corrupt("document %s: %s", kept.lost[0].Root, kept.lost[0].Reason)
	case len(kept.said) > 0:
		return corrupt("%s", strings.Join(kept.said, "; "))
	}
	f.overlaps.forget()
	return nil
}
