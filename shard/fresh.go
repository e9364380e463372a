package shard

import (
	"sync"

	"arborist/document"
)

// maxFresh is how much text a set keeps in memory until it is indexed.
const maxFresh = 96 << 20

// A freshSet keeps documents that were stored and are not indexed, so that their
// text need not be read and decoded again for it. They are kept by their root,
// which says what they are, whatever becomes of the transaction that stores them.
// What there is no room for is read from its file. It is safe for concurrent use.
type freshSet struct {
	mu        sync.Mutex
	documents map[document.Root]*document.Document // guarded by mu
	bytes     int                                  // of their text; guarded by mu
}

// keep keeps a document, where there is room. Those that are there stay: they
// are the next to be indexed.
func (s *freshSet) keep(d *document.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.documents[d.Root()]; ok || s.bytes+len(d.Text()) > maxFresh {
		return
	}
	if s.documents == nil {
		s.documents = make(map[document.Root]*document.Document)
	}
	s.documents[d.Root()] = d
	s.bytes += len(d.Text())
}

// take returns the document of a root and forgets it, nil where it is not there.
func (s *freshSet) take(root document.Root) *document.Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[root]
	if d == nil {
		return nil
	}
	delete(s.documents, root)
	s.bytes -= len(d.Text())
	return d
}

// clear forgets everything: what is still there once all is indexed was stored
// by a transaction that failed.
func (s *freshSet) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.documents, s.bytes = nil, 0
}
