// Package corpus keeps corpora: named, signed, append-only logs of records
// that say which documents a publisher offers, where it found them and what it
// has replaced or withdrawn. One SQLite file holds a node's own corpora and
// the ones that it follows, in the same tables.
//
// The package guarantees:
//
//   - Nothing is visible that the pinned key did not sign. Every read (records,
//     tiles, proofs, listings, counts) answers for the last signed head, from
//     one snapshot; lines that arrived ahead of their head are kept apart and
//     change no answer.
//   - Append-only. A head never goes back, neither in size nor in content, and
//     neither by a restart. A store never signs a head below or beside one that
//     it has signed: the head is durable before the note leaves the call.
//   - A foreign head is accepted only under the key pinned on first use and
//     only where the stored log plus the new lines hash to exactly the signed
//     root. An older head is refused. Two heads that cannot both be true are
//     kept as [Evidence] and freeze the corpus.
//   - Durable on return (WAL with synchronous=FULL), whole or not at all: a
//     kill, a full disk or an error leaves the last head in force.
//   - Constant work a record: the tree is kept as C2SP tiles of 256 hashes,
//     so neither a head nor a proof re-hashes the log.
//
// A log obeys one rule, for its own publisher and for its followers alike. A
// record is current for its URI from where it stands until the next record of
// the same URI. An add stands only where nothing is current for its URI; a
// supersede only where another document is, which it names; a withdraw only
// where its own document is current, and after it nothing is. So a record that
// would repeat what is current cannot stand in a log at all: [Store.Append]
// leaves it out, [Store.Extend] refuses it.
//
// All methods are safe for concurrent use. Writes are serialised; readers
// never wait for them. The file has one writing process: the daemon's lock on
// the home sees to that.
package corpus

import (
	"errors"
	"fmt"
	"strings"
)

// MaxSize is the largest number of records in one log. A signed head above it
// is refused: it bounds the work that a hostile publisher can announce.
const MaxSize = 1 << 40

// maxName is the longest short name of a corpus, maxPublisher the longest name
// of a publisher, in bytes.
const (
	maxName      = 64
	maxPublisher = 128
)

var (
	// ErrNotFound: no such corpus, head, record, tile or listing. For tiles and
	// entries it also means "not yet": the head does not reach that far.
	ErrNotFound = errors.New("corpus: not found")
	// ErrName: a corpus name or an origin that is not one.
	ErrName = errors.New("corpus: not a corpus name")
	// ErrKey: the corpus is pinned to another key, or the key is not the
	// corpus's own.
	ErrKey = errors.New("corpus: another key is pinned for this corpus")
	// ErrNotOwn: only the publisher appends to a log.
	ErrNotOwn = errors.New("corpus: not published by this node")
	// ErrOwn: the corpus is published by this node, it has nothing to fetch.
	ErrOwn = errors.New("corpus: published by this node")
	// ErrRollback: a validly signed head is older than one that is known. What
	// served it is stale or takes the log back; the known head stays in force.
	ErrRollback = errors.New("corpus: signed head is older than the one known")
	// ErrEquivocation: the publisher signed two heads that cannot both be true.
	// The error also is a [*FrozenError].
	ErrEquivocation = errors.New("corpus: publisher signed two histories")
	// ErrFrozen: the corpus takes no more heads; see [FrozenError].
	ErrFrozen = errors.New("corpus: frozen")
	// ErrMismatch: the log and the lines do not hash to the signed root, or a
	// consistency proof does not hold. The fault may be whoever served them.
	ErrMismatch = errors.New("corpus: lines do not give the signed head")
	// ErrRecord: a line is not a record, or not one that may stand there.
	ErrRecord = errors.New("corpus: record does not belong in the log")
	// ErrBehind: this node's own log is shorter than a head that its key has
	// signed, as after a restore from an old backup. Signing would fork it.
	ErrBehind = errors.New("corpus: own log is behind a head signed before")
	// ErrReplaced: a head of another history that only a key has signed which
	// the corpus has replaced. It is kept as evidence and does no other harm.
	ErrReplaced = errors.New("corpus: a replaced key has signed another history")
	// ErrCorrupt: the file does not hold what it held when it was written.
	ErrCorrupt = errors.New("corpus: stored log is damaged")
	// ErrFull: the disk is full. What is stored can be read; the same call again
	// succeeds when there is space.
	ErrFull = errors.New("the disk is full")
	// ErrForeign: the file is not a file of corpora.
	ErrForeign = errors.New("corpus: not a file of corpora")
	// ErrNewer: the file was made by a newer version.
	ErrNewer = errors.New("corpus: file was made by a newer version")
)

// A FrozenError says that a corpus is frozen, and why: two notes signed by its
// key that contradict each other are kept under the number Evidence. It
// matches [ErrFrozen].
type FrozenError struct {
	Origin   string
	Evidence int64 // see [Store.Evidence]; below 0 for two rotations of one key
}

func (e *FrozenError) Error() string {
	if e.Evidence == rotationFork {
		return fmt.Sprintf("corpus %s is frozen: its key was handed over to two others; "+
			"what was synced before stays readable, ask the publisher before trusting it further", e.Origin)
	}
	return fmt.Sprintf("corpus %s is frozen: its key signed two heads that cannot both be true; "+
		"what was synced before stays readable, ask the publisher before trusting it further", e.Origin)
}

// Is makes a FrozenError match [ErrFrozen].
func (e *FrozenError) Is(target error) bool { return target == ErrFrozen }

// splitOrigin takes an origin "<publisher>/<name>" apart. It accepts no name
// that could be taken for a path or an option, or that hides characters.
func splitOrigin(origin string) (publisher, name string, err error) {
	publisher, name, ok := strings.Cut(origin, "/")
	if !ok || !isName(publisher, maxPublisher) {
		return "", "", fmt.Errorf("%w: origin %.200q: want PUBLISHER/NAME", ErrName, origin)
	}
	if !ValidName(name) {
		return "", "", fmt.Errorf("%w: %.200q: want 1 to %d letters, digits, '-', '_' or '.', the first a letter or digit",
			ErrName, name, maxName)
	}
	return publisher, name, nil
}

// ValidName reports whether name can be the short name of a corpus: 1 to 64
// ASCII letters, digits, '-', '_' and '.', starting with a letter or digit.
func ValidName(name string) bool { return isName(name, maxName) }

func isName(s string, max int) bool {
	if len(s) == 0 || len(s) > max {
		return false
	}
	for i, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '-' || c == '_' || c == '.'):
		default:
			return false
		}
	}
	return true
}
