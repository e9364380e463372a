package crawl

import "arborist/crawl/fetch"

// A Report says what a crawl did. Lists are bounded by Config.MaxListed; the
// totals count what they leave out as well. Where a crawl was resumed, the
// report is of the whole crawl, but for the fields that say otherwise.
type Report struct {
	Pages   int // fetched, the ones not to be indexed included
	Earlier int // of these, fetched before the crawl was resumed
	NoIndex int // pages that ask not to be kept, and were not

	Gone      int // stored pages that were found gone, and marked
	Redirects int // answers that led elsewhere
	Requests  int // made in this run, robots.txt included

	Refused      []Refusal // not fetched, or not kept, by rule
	RefusedTotal int
	Failed       []Failure // could not be fetched
	FailedTotal  int
	Classes      map[fetch.Class]int // failures by class, all of them

	// Collapsed counts the pages of this run whose content another page of it
	// had already: byte for byte, or where they were ingested by document.
	Collapsed int

	Traps []Trap // patterns that ran out of budget
	Cut   []Cut  // pages too long or too hostile to find all links of, and sitemaps not read, in this run

	// References not followed in this run, counted once a page.
	OffSite  int // to other hosts
	Social   int // of these, to social media
	Nofollow int // under rel=nofollow
	Foreign  int // mailto: and the like
	Broken   int // to no address at all

	// Unrelated counts the pages of this run whose links were not followed by
	// Config.Embedder's word.
	Unrelated int

	// Unfinished says of each host that was left alone why: its pages wait.
	Unfinished []string

	// Documents counts the document files that were met, by the end of their
	// name ("pdf"); DocumentPages those of them that were fetched, which are in
	// Pages as well.
	Documents     map[string]int
	DocumentPages int

	// Listed counts the addresses of the site that the sitemaps of
	// Config.FromSitemap hold, as often as they stand there, in this run.
	Listed int

	// Capped: the crawl ended at Config.MaxPages with more to fetch.
	Capped bool
}

// A Refusal is an address that was not fetched, or whose answer was not kept,
// by a rule of the site or of ours.
type Refusal struct{ URL, Reason string }

// A Failure is an address that could not be fetched.
type Failure struct {
	URL   string
	Class fetch.Class
	Error string
}

// A Trap is a pattern of addresses that ran out of budget. In the pattern, "#"
// stands for any number or hexadecimal word.
type Trap struct {
	Pattern        string
	Pages, Refused int
}

// A Cut is a page or sitemap whose links were not all looked at.
type Cut struct{ URL, Reason string }

// A Visit is one address that was answered with a page or an error status.
type Visit struct {
	URL    string
	Depth  int // links from the seed
	Status int // HTTP status
}

func (r *Report) document(kind string, fetched bool) {
	if r.Documents == nil {
		r.Documents = map[string]int{}
	}
	r.Documents[kind]++
	if fetched {
		r.DocumentPages++
	}
}

func (r *Report) refuse(listed int, url, reason string) {
	r.RefusedTotal++
	if len(r.Refused) < listed {
		r.Refused = append(r.Refused, Refusal{URL: url, Reason: reason})
	}
}

func (r *Report) fail(listed int, url string, class fetch.Class, reason string) {
	r.FailedTotal++
	if r.Classes == nil {
		r.Classes = map[fetch.Class]int{}
	}
	r.Classes[class]++
	if len(r.Failed) < listed {
		r.Failed = append(r.Failed, Failure{URL: url, Class: class, Error: reason})
	}
}
