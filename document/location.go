package document

import "time"

// A Location says where and when a document's content was found. It is kept
// apart from the content and is in no hash of it.
type Location struct {
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
