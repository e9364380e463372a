package api

import "context"

// A Carrier moves documents out of and into archives that IPFS tools read.
type Carrier interface {
	// Export writes documents into a new CARv1 file.
	Export(ctx context.Context, req ExportRequest, fn ProgressFunc) (ExportResult, error)
	// Import stores the documents of a CARv1 file, each verified whole.
	Import(ctx context.Context, req ImportRequest, fn ProgressFunc) (AddResult, error)
}

// ExportRequest asks for an archive of what a corpus lists, or of the documents
// named in What.
type ExportRequest struct {
	File   string   `json:"file"`             // absolute, and nothing is there yet
	Corpus string   `json:"corpus,omitempty"` // default "main" where What is empty
	What   []string `json:"what,omitempty"`   // roots and URIs, private ones too
}

// ExportResult describes an archive that was written.
type ExportResult struct {
	File      string `json:"file"`
	CID       string `json:"cid"` // of the archive's root: what ipfs pins
	Documents int    `json:"documents"`
	Bytes     int64  `json:"bytes"`
	Private   int    `json:"private,omitempty"` // of them, documents that no peer can read here
}

// ImportRequest asks to store the documents of an archive.
type ImportRequest struct {
	File    string `json:"file"`              // absolute
	Corpus  string `json:"corpus,omitempty"`  // default "main"; must be empty where Private
	Private bool   `json:"private,omitempty"` // into the private crawl db
}
