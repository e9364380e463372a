package shard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// maxForeignCheck bounds how long a stranger's file can keep OpenForeign busy.
const maxForeignCheck = time.Minute

// OpenForeign opens a file that somebody else made, or that is somebody else's
// to write, for reading. It must be a plain file, no link; what lies beside it
// (a log, a journal) is not looked at; nothing is written. Its schema must be
// ours to the letter and its own counts must agree. Private files are accepted:
// whoever has the file may search it, and it is in no [*Shared].
//
// Later, every document is hashed whole before a passage of it is returned, and
// the words of a query must stand in the proven text with the very score that
// the index claims: an index that lies makes its file fail, with a reason.
//
// The file must not change while it is open. Errors name the file and wrap
// [ErrKind], [ErrNewer], [ErrUnsafe], [ErrCorrupt] or [ErrNotFound].
func OpenForeign(path string) (*File, error) {
	f, err := openForeign(path, immutable)
	if err != nil {
		return nil, named(path, fmt.Errorf("open foreign shard: %w", err))
	}
	return f, nil
}

func openForeign(path string, how access) (_ *File, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	kind, version, err := inspectFile(path)
	if err != nil {
		return nil, err
	}
	if err := expect(kind, version, KindShared, KindPrivate); err != nil {
		return nil, err
	}
	if version < SchemaVersion {
		return nil, fmt.Errorf("%w (schema %d): nothing is written to a file that is not ours; ask its owner to open it with a newer version", ErrOlder, version)
	}
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	f := newFile(path, kind)
	f.foreign = true
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if f.reader, err = connect(path, how); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxForeignCheck)
	defer cancel()
	if err := checkSchema(ctx, f.reader, kind, schemaSQL); err != nil {
		return nil, f.judge(err)
	}
	// SQLite opened the path by name: that name must still be the file that was
	// inspected.
	after, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(before, after) || !after.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it was replaced while being opened", ErrUnsafe)
	}
	if err := f.readPlace(ctx); err != nil {
		return nil, f.judge(err)
	}
	return f, f.view(ctx, func(tx queryer) error { return checkCounts(ctx, tx) })
}

// checkCounts compares a file's counters with what they count, and the lengths
// in its index with its documents. It reads the small tables whole, and neither
// text nor postings.
func checkCounts(ctx context.Context, tx queryer) error {
	s, err := readState(ctx, tx)
	if err != nil {
		return err
	}
	got := state{generation: s.generation, posting: s.posting}
	err = tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(chunks), 0), coalesce(sum(bytes), 0),
		coalesce(sum(iif(visible, chunks, 0)), 0), coalesce(sum(iif(visible, words, 0)), 0), coalesce(sum(words), 0) FROM documents`).
		Scan(&got.documents, &got.chunks, &got.bytes, &got.passages, &got.words, &got.allWords)
	if err != nil {
		return err
	}
	if got != s {
		return corrupt("its counters say %+v, its documents %+v", s, got)
	}
	indexed, err := checkPending(ctx, tx)
	if err != nil {
		return err
	}
	opened, err := openInverted(ctx, tx, postingsOf(ctx, tx), nil)
	if err != nil {
		return err
	}
	if passages, words := opened.reader.Size(); passages != indexed || words != s.allWords {
		return corrupt("its index has %d passages with %d words, its documents %d with %d", passages, words, indexed, s.allWords)
	}
	return nil
}
