// Package frontier holds what a crawl has found and what became of it.
//
// An [Entry] is one address of one crawl. It is waiting until it is settled,
// once and for good. Package frontier keeps a crawl in memory ([Memory]);
// package crawldb keeps it on disk. Both guarantee that
//
//   - an address is added once per crawl, whatever leads to it, at the lowest
//     depth at which it was found while waiting;
//   - entries of one origin and depth come out in the order in which they were
//     added;
//   - what an outcome changes (the entry's state, the links of its page, the
//     page itself) takes effect as a whole or not at all, and on disk is
//     durable when Settle returns.
//
// Package frontiertest holds these promises as a suite for both.
package frontier

import (
	"strings"

	"arborist/ingest"
)

// A State says what became of an entry. The numbers are kept on disk.
type State int

const (
	Waiting    State = 0 // not yet fetched
	Fetched    State = 1 // fetched; its page is kept until it is stored
	Done       State = 2 // fetched; nothing is left to do
	Redirected State = 3 // led to another entry, or to nothing new
	Refused    State = 4 // not fetched, or not kept, by rule
	Failed     State = 5 // could not be fetched
)

// An Entry is one address of a crawl.
type Entry struct {
	ID    int64 // ascending in the order of discovery
	URL   string
	Depth int
	Chain int // see Link
	Trail []string
}

// Origin gives the scheme, host and port of an entry's address, which is
// absolute and normalised. Package crawldb has the same in SQL.
func Origin(url string) string {
	const scheme = len("http://")
	end := scheme
	if len(url) > scheme {
		end += strings.IndexByte(url[scheme+1:], '/') + 1
	}
	return url[:min(end, len(url))]
}

// A Link is an address found on a page or in a redirect.
type Link struct {
	URL   string
	Depth int
	// Chain counts the variable addresses (see the crawler's trap budgets)
	// that led here one from the other.
	Chain int
	// Trail holds the addresses that redirected here one after the other.
	Trail []string
}

// Seeds gives the links that a crawl begins with.
func Seeds(urls []string) []Link {
	links := make([]Link, len(urls))
	for i, u := range urls {
		links[i].URL = u
	}
	return links
}

// An Outcome is what became of an entry.
type Outcome struct {
	Entry  Entry
	State  State
	Status int    // HTTP status, 0 where there was none
	Class  string // of a failure
	Reason string // of a refusal or failure; where a redirect led

	// Links are added to the crawl; those known already are ignored, except
	// that a waiting one rises to a lower depth.
	Links []Link

	// Page is kept until it is stored; only with State Fetched.
	Page *ingest.Raw

	// SeedVector is what other pages are compared with, where this is the seed's
	// and they are.
	SeedVector []float32

	// Author of the page, where that is known.
	Author string

	// Document: it is a document file, and the page that it was found on is
	// kept with it.
	Document bool
}
