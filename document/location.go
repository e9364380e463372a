package document

import "time"

// A Location says where and when a document's content was found. It is kept
// apart from the content and is in no hash of it.
//
// A URI is an identity only within its corpus: the same URI in two corpora
// (two publishers) never supersedes across them.
type Location struct {
	Corpus      string    // origin of the corpus that lists it, empty where private
	URI         string    // where it was found; the identity under which versions supersede each other
	Title       string    // may be empty
	Source      string    // name of the source, for example "directory" or "crawl"
	FetchedAt   time.Time // UTC, whole seconds
	ContentType string    // of the raw input, may be empty
	Extractor   string    // name and version of what turned the raw input into text
	Status      int       // HTTP status, 0 where there was none
	ETag        string    // HTTP validator, may be empty
	Modified    string    // HTTP Last-Modified as received, may be empty
}

// An Entry is a document at a location: what an ingest pipeline hands to a
// store.
type Entry struct {
	Document *Document
	Location Location
	// Recorded: it was found at Location.FetchedAt and kept since, as in a web
	// archive, and not found now. It takes the place of nothing that was found later.
	Recorded bool
}

// An Outcome says what storing an [Entry] changed.
type Outcome struct {
	// New: the content was not in this store before.
	New bool
	// Unchanged: content and location were here already; nothing was written.
	Unchanged bool
	// Older: what is current at this URI was found later; nothing was written.
	Older bool
	// Superseded holds the root that was current at this URI until now, or
	// the zero Root where none was.
	Superseded Root
}
