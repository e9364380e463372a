package shard

import (
	"context"
	"database/sql"
	"fmt"

	"arborist/document"
)

// A document is pending while it is stored and its words are not in the index:
// it has all its rows but counts no words, is not visible, and stands behind all
// documents of the index, which are indexed in the order of their ids. So where
// the last segment of the index ends says which documents are pending, and
// nothing else has to be kept right. Whatever needs the index to be complete
// brings it up to date first, in its own transaction.

// An indexing says when the words of stored documents get into the index.
type indexing int

const (
	indexNow   indexing = iota // in the transaction that stores them
	indexLater                 // see [Shared.Index]
)

// indexStep is how much text, and a document more, one transaction of Index
// brings into the index of a file.
const indexStep = 8 << 20

// indexedTo returns the id behind the last chunk in the index.
func indexedTo(ctx context.Context, tx queryer) (end int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT coalesce(max(first + passages), 1) FROM segments WHERE negative = 0").Scan(&end)
	return end, err
}

// countPending counts the documents that are not in the index.
func countPending(ctx context.Context, tx queryer) (n int, err error) {
	end, err := indexedTo(ctx, tx)
	if err != nil {
		return 0, err
	}
	return n, tx.QueryRowContext(ctx, "SELECT count(*) FROM documents WHERE id >= ?", end).Scan(&n)
}

// checkPending checks that pending documents count for nothing, and returns the
// number of chunks that the others have.
func checkPending(ctx context.Context, tx queryer) (indexed int64, err error) {
	end, err := indexedTo(ctx, tx)
	if err != nil {
		return 0, err
	}
	var wrong int
	err = tx.QueryRowContext(ctx, "SELECT coalesce(sum(iif(id < ?1, chunks, 0)), 0), count(*) FILTER (WHERE id >= ?1 AND (visible <> 0 OR words <> 0)) FROM documents", end).
		Scan(&indexed, &wrong)
	if err == nil && wrong > 0 {
		err = corrupt("its index lacks %d documents that it counts", wrong)
	}
	return indexed, err
}

// Index brings everything that is stored into the search index, in steps that
// are each durable. Reads, searches and writes go on. A crash, or an end of ctx,
// leaves what is not indexed for the next call. Report, which may be nil, is told
// after each step how many documents are left.
func (s *Shared) Index(ctx context.Context, report func(left int)) error {
	for {
		left, err := s.indexSome(ctx)
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		if left == 0 {
			return nil
		}
		if report != nil {
			report(left)
		}
	}
}

// indexSome takes one step in each file that can be used.
func (s *Shared) indexSome(ctx context.Context) (left int, err error) {
	s.gate.enter()
	defer s.gate.leave()
	lefts := make([]int, len(s.files))
	err = each(len(s.files), func(i int) (err error) {
		if f := s.files[i]; f.broken == nil {
			lefts[i], err = f.indexSome(ctx, indexStep)
		}
		return err
	})
	for _, n := range lefts {
		left += n
	}
	if left == 0 && err == nil {
		s.files[0].fresh.clear()
	}
	return left, err
}

// Index brings everything that is stored into the search index of the file, as
// [Shared.Index] does over the set.
func (f *File) Index(ctx context.Context) error {
	if err := f.indexAll(ctx); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	f.fresh.clear()
	return nil
}

// indexAll brings everything that is stored into the index of the file.
func (f *File) indexAll(ctx context.Context) error {
	for {
		if left, err := f.indexSome(ctx, indexStep); err != nil || left == 0 {
			return err
		}
	}
}

// indexSome brings pending documents into the index, as many as have so much
// text and one more, and returns how many are left.
func (f *File) indexSome(ctx context.Context, bytes uint64) (left int, err error) {
	if left, err = f.Pending(ctx); err != nil || left == 0 {
		return 0, err
	}
	err = f.Write(ctx, func(tx *sql.Tx) error {
		a, err := newApplier(f, tx)
		if err != nil {
			return err
		}
		before := a.indexed
		if err := a.catchUp(ctx, bytes); err != nil {
			return err
		}
		after := a.indexed
		if err := a.finish(); err != nil {
			return err
		}
		f.indexers.Put(a.index)
		left, err = countPending(background, tx)
		if err == nil && left > 0 && after == before { // the next step would do no more
			err = corrupt("%d documents stand behind its last one", left)
		}
		return err
	})
	return left, err
}

// Pending returns how many documents of the set are stored and not in the
// index, those of files that cannot be read left out.
func (s *Shared) Pending(ctx context.Context) (n int, err error) {
	s.gate.enter()
	defer s.gate.leave()
	for _, f := range s.files {
		more, err := f.Pending(ctx)
		if err != nil && !isUnreadable(err) {
			return 0, err
		}
		n += more
	}
	return n, nil
}

// Pending returns how many documents of the file are stored and not in the index.
func (f *File) Pending(ctx context.Context) (n int, err error) {
	err = f.view(ctx, func(tx queryer) error {
		n, err = countPending(ctx, tx)
		return err
	})
	return n, err
}

// indexNew adds a document that is being stored to the index, behind all others.
func (a *applier) indexNew(id int64, d *document.Document) (words int64, err error) {
	if err := a.catchUp(background, 1<<62); err != nil {
		return 0, err
	}
	return a.indexNext(id, d, true)
}

// indexNext adds the chunks of the next document to the index and the counters.
func (a *applier) indexNext(id int64, d chunked, visible bool) (words int64, err error) {
	if words, err = a.index.add(id, d); err != nil {
		return 0, err
	}
	a.indexed = id + int64(d.Chunks())
	a.state.allWords += words
	if visible {
		a.state.passages += int64(d.Chunks())
		a.state.words += words
	}
	return words, nil
}

// catchUp brings pending documents into the index, in order, as many as have so
// much text and one more.
func (a *applier) catchUp(ctx context.Context, bytes uint64) error {
	for done := uint64(0); a.indexed < a.next && done < bytes; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var words int64
		var current bool
		row, err := scanDoc(a.tx.QueryRowContext(background, "SELECT "+docColumns+", words, "+
			"EXISTS (SELECT 1 FROM locations WHERE document = documents.id AND current = 1) FROM documents WHERE id = ?", a.indexed), &words, &current)
		if isNotFound(err) || err == nil && (row.visible || words != 0) {
			return corrupt("chunk %d is not in its index", a.indexed)
		}
		if err != nil {
			return err
		}
		if err := a.indexPending(row, current); err != nil {
			return err
		}
		done += row.header.Bytes
	}
	return nil
}

// indexPending brings one pending document into the index. One whose text is
// damaged keeps its place there without words: it must not hold up the others.
func (a *applier) indexPending(row docRow, current bool) error {
	d, err := a.pendingText(row)
	if err != nil {
		return err
	}
	if _, gone := d.(lost); !current && !gone {
		if err := a.index.count(d, false); err != nil {
			return err
		}
	}
	words, err := a.indexNext(row.id, d, current)
	if err != nil {
		return err
	}
	return a.exec("UPDATE documents SET words = ?, visible = ?, changed = ? WHERE id = ?", words, current, a.state.generation, row.id)
}

// pendingText returns the text of a pending document.
func (a *applier) pendingText(row docRow) (chunked, error) {
	if d := a.file.fresh.take(row.header.Root); d != nil {
		return d, nil
	}
	err := a.readStored(row)
	if isCorrupt(err) {
		a.file.meet(err)
		return lost(row.header.Chunks), nil
	}
	return &a.text, err
}

// A lost is so many chunks without text.
type lost int

// Chunks returns their number.
func (l lost) Chunks() int { return int(l) }

// Chunk returns no text.
func (l lost) Chunk(int) []byte { return nil }
