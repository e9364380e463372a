// Package ingest brings documents into a store: it takes raw bytes from a
// [Source], turns them into text (package extract), into canonical text,
// chunks and a Merkle tree (package document), and hands them in batches to a
// [Sink].
//
// [Run] guarantees:
//
//   - Order. Entries reach the sink in the order in which the source emitted
//     them, so a later version of a URI always comes after an earlier one and
//     the same input gives the same corpus log.
//   - Isolation. A document that cannot be read, is too large, is no text, or
//     makes an extractor panic, is one [Failure] in the report. It never stops
//     the run and never changes another document.
//   - Honest counts. The report counts what the sink acknowledged, nothing
//     else.
//   - Bounds. Memory is bounded by Config.InFlight and Config.Queue whatever
//     the number of documents; a source is held back while the store is slow.
//   - A clean end. When the context ends, the source fails or the sink fails,
//     Run returns what was acknowledged until then and leaves no goroutine.
//     Running the same source again completes the work: sinks are idempotent.
package ingest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"arborist/document"
	"arborist/ingest/extract"
)

// A Raw is a document as its source found it.
type Raw struct {
	// Location says where it was found. URI is needed; ContentType may be
	// empty, then it is sniffed; an empty Title is taken from the text, and a
	// zero FetchedAt becomes the time of the run. Extractor is set by the run.
	Location document.Location
	// Body is the bytes as found. It belongs to the pipeline once emitted.
	Body []byte
	// Recorded: see [document.Entry].
	Recorded bool
}

// A Source finds documents.
type Source interface {
	// Documents calls emit for each document and fail for each one that could
	// not be read, until there are no more. Both may be called from several
	// goroutines. emit blocks while the pipeline is full; once it returns an
	// error the run is over, and Documents returns as soon as it can. An error
	// from Documents means that the source as a whole failed: what was emitted
	// before is still stored.
	Documents(ctx context.Context, emit func(Raw) error, fail func(uri string, err error)) error
}

// A Sink stores documents.
type Sink interface {
	// Store stores entries in the order given and returns one outcome for each.
	// When it returns a nil error they are durable. When it returns an error
	// none of them counts as stored: the error is the store's, and ends the
	// run. Store is idempotent, so a run can simply be repeated. [Run] never
	// calls it concurrently, and it must not keep the slice.
	Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error)
	// Index has searches find everything that was stored; until then they need
	// not. [Run] calls it now and then, and before it returns unless it was
	// stopped: words are indexed together, because that takes much less time.
	// Calls of Store and Index never overlap.
	Index(ctx context.Context) error
}

// An ExtractFunc turns raw bytes into text; that of an [extract.Extractor].
type ExtractFunc func(ctx context.Context, contentType, uri string, body []byte) (extract.Text, error)

// Config says how [Run] works. The zero value is good for a directory and for
// a crawl.
type Config struct {
	Workers     int           // extracting at once; 0: GOMAXPROCS
	MaxRaw      int64         // largest raw document, in bytes; 0: 64 MiB
	InFlight    int64         // raw and extracted bytes held at once; 0: 64 MiB. One larger document is held alone
	Queue       int           // documents held at once; 0: 256
	Batch       int           // most entries of one Store; 0: 1000
	BatchBytes  int64         // text bytes after which a batch is stored; 0: 8 MiB
	BatchWait   time.Duration // longest time that an extracted document waits for its batch to fill; 0: 250 ms
	IndexBytes  int64         // text bytes stored after which they are indexed; 0: 96 MiB
	IndexWait   time.Duration // longest time that a stored document waits to be indexed; 0: 5 s
	MaxFailures int           // failures kept in the report, more are only counted; 0: 1000
	Extract     ExtractFunc   // nil: extract.Extract
}

func (c Config) withDefaults() Config {
	c.Workers = orDefault(c.Workers, runtime.GOMAXPROCS(0))
	c.MaxRaw = orDefault(c.MaxRaw, extract.MaxBytes)
	c.InFlight = orDefault(c.InFlight, 64<<20)
	c.Queue = orDefault(c.Queue, 256)
	c.Batch = orDefault(c.Batch, 1000)
	c.BatchBytes = orDefault(c.BatchBytes, 8<<20)
	c.BatchWait = orDefault(c.BatchWait, 250*time.Millisecond)
	c.IndexBytes = orDefault(c.IndexBytes, 96<<20)
	c.IndexWait = orDefault(c.IndexWait, 5*time.Second)
	c.MaxFailures = orDefault(c.MaxFailures, 1000)
	if c.Extract == nil {
		c.Extract = extract.Extract
	}
	return c
}

func orDefault[T int | int64 | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// A Report says what a run did. Every counter but the failures counts entries
// that the sink acknowledged.
type Report struct {
	Documents  int   // stored, found unchanged or left out as older
	Chunks     int   // of these documents
	New        int   // content that the store did not have
	Unchanged  int   // content and location were there already
	Superseded int   // took the place of another version at their URI
	Older      int   // recorded before what is current at their URI was found: left out
	Known      int   // content that the store had, at a place that was empty
	Bytes      int64 // of canonical text
	// Failed lists the documents that could not be ingested, at most
	// Config.MaxFailures of them; Unlisted counts those beyond.
	Failed   []Failure
	Unlisted int
}

// Add adds the report of a later run into the same sink.
func (r *Report) Add(later Report) {
	r.Documents += later.Documents
	r.Chunks += later.Chunks
	r.New += later.New
	r.Unchanged += later.Unchanged
	r.Superseded += later.Superseded
	r.Older += later.Older
	r.Known += later.Known
	r.Bytes += later.Bytes
	r.Failed = append(r.Failed, later.Failed...)
	r.Unlisted += later.Unlisted
}

// A Failure is one document that could not be ingested, and why.
type Failure struct {
	URI string
	Err error
}

// Progress is how far a run has come; see [Report] for the counters.
type Progress struct {
	Documents, Chunks, New, Unchanged, Superseded int
	Failed                                        int // listed or not
	Bytes                                         int64
	URI                                           string // the last one stored
	Reading                                       bool   // URI is being read, which takes long, and those after it wait
}

var (
	// ErrTooLarge: a raw document is over Config.MaxRaw.
	ErrTooLarge = errors.New("document is too large")
	// ErrLocation: a location has no URI, or one that no store could keep.
	ErrLocation = errors.New("location is not valid")
	// ErrPanic: an extractor panicked on a document.
	ErrPanic = errors.New("extractor failed")
	// ErrUnavailable: what reads documents of a kind does not work now.
	ErrUnavailable = extract.ErrUnavailable
	// ErrSink: a sink broke its contract.
	ErrSink = errors.New("store gave a wrong number of outcomes")
)
