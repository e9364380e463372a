// Package shard keeps documents in SQLite files and finds passages in them.
//
// It guarantees:
//
//   - What Put acknowledged is on disk (synchronous=FULL) and survives a kill
//     or a power cut; what it did not acknowledge can be put again, and putting
//     the same content at the same location again writes nothing.
//   - Nothing unverified leaves: a [document.Document] or [Passage] is hashed
//     against its root when it is read, and a hit of a search is such a passage.
//     Whatever fails is an error that names the file and wraps [ErrCorrupt].
//   - A search over N files gives exactly the hits, scores (to the bit) and
//     order that one file with everything would give, for any split, documents
//     that several files hold included.
//   - A [*Shared] holds peer-shared files alone. It is made only by
//     [OpenShared], which refuses private files, other kinds of file, and links,
//     and by [OpenDamaged], which never opens them.
//     This is the third layer of the privacy wall: see docs/privacy.md.
//   - A file from a stranger ([OpenForeign]) is never written, never trusted
//     about what a text contains, and can do no more than be refused.
//
// A document is in the file that the leading bits of its root name. Documents
// none of whose locations is current are kept but hidden from search.
//
// The index of words is our own (shard/internal/index). SQLite is linked with
// FTS5, by the build tag sqlite_fts5, to migrate files of schema version 1.
package shard

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"

	"arborist/shard/corpus"
)

// A Kind says what a file is for. It is the application_id in the file's
// header, so a file cannot pass for another kind by its name.
type Kind uint32

const (
	// KindShared marks a file that peers may read: "ArbS".
	KindShared Kind = 0x41726253
	// KindPrivate marks a file that must never reach a peer: "ArbP".
	KindPrivate Kind = 0x41726250
)

// String returns "shared", "private", or the number of an unknown kind.
func (k Kind) String() string {
	switch k {
	case KindShared:
		return "shared"
	case KindPrivate:
		return "private"
	}
	return fmt.Sprintf("unknown (application_id 0x%08x)", uint32(k))
}

// SchemaVersion is the user_version of the files that this version writes.
const SchemaVersion = 4

// LastVersion is more than a version of tables will ever be: a file that says more is
// damaged.
const LastVersion = corpus.LastVersion

var (
	// ErrNotFound: no such document, passage or file.
	ErrNotFound = errors.New("not found")
	// ErrCorrupt: a file holds something that its own hashes or rules deny.
	ErrCorrupt = errors.New("corrupt")
	// ErrNewer: a file was made by a newer version of this program.
	ErrNewer = errors.New("made by a newer version; upgrade this program")
	// ErrOlder: a file that is not ours to write was made by an older version.
	ErrOlder = errors.New("made by an older version")
	// ErrKind: a file is of another kind than is wanted here.
	ErrKind = errors.New("wrong kind of file")
	// ErrUnsafe: a path is not a plain file of its own (a link, a pipe).
	ErrUnsafe = errors.New("not a plain file with one name")
	// ErrReadOnly: a write to a file that was opened for reading.
	ErrReadOnly = errors.New("opened read-only")
	// ErrLocation: a location that cannot be stored.
	ErrLocation = errors.New("location is not valid")
	// ErrFull: the disk is full. What is stored can be read; the same call again
	// succeeds when there is space.
	ErrFull = corpus.ErrFull
	// ErrSet: the files of a folder do not form one set of shards.
	ErrSet = errors.New("not a complete set of shards")
)

// A FileError is a failure in one file. Err tells the cause.
type FileError struct {
	Path string
	Err  error
}

// Error implements error.
func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// fail names the file in an error, once, and turns SQLite's own findings of
// damage into [ErrCorrupt].
func (f *File) fail(err error) error {
	if err == nil {
		return nil
	}
	if fe := (*FileError)(nil); errors.As(err, &fe) {
		return err
	}
	err = f.judge(err)
	f.meet(err)
	return &FileError{Path: f.path, Err: err}
}

// judge says what a failure means for the file that it is in.
func (f *File) judge(err error) error {
	var se sqlite3.Error
	failed := errors.As(err, &se) && se.Code != sqlite3.ErrInterrupt && se.Code != sqlite3.ErrNomem || errors.Is(err, sql.ErrNoRows)
	if f.foreign && failed && !errors.Is(err, ErrCorrupt) {
		// The statements are ours and run on every file of ours: what they fail
		// on is what the stranger wrote.
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return damage(err)
}

// damage gives SQLite's findings about a file the names that callers know.
func damage(err error) error {
	if corpus.IsFull(err) && !errors.Is(err, ErrFull) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	if !errors.Is(err, ErrCorrupt) && corpus.IsMalformed(err) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// corrupt returns an error that wraps [ErrCorrupt].
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

func isCorrupt(err error) bool { return errors.Is(err, ErrCorrupt) }

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }
