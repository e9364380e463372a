// Package audit says what is wrong with a site, from what a crawl of it has
// kept. It is pure: it fetches nothing, stores nothing, and gives the same
// report for the same crawl.
package audit

import (
	"cmp"
	"slices"

	"arborist/document"
)

const (
	// MaxListed is how many findings of one kind are listed. Totals count all.
	MaxListed = 1000
	// ThinWords: a page with fewer words is thin.
	ThinWords = 50
	// OverlapShare is the share of a page's passages that another page has too
	// from which on the two overlap, of the one with fewer passages.
	OverlapShare = 0.5
	// commonPages: a passage that stands on more pages than this is the site's
	// frame and no sign that two of them say the same.
	commonPages = 50
)

// An Address is what became of one address of a crawl.
type Address struct {
	URL     string
	FoundOn string   // first page with a link to it; empty for the seed and where it is not known
	Depth   int      // links from the seed
	Trail   []string // redirects through which the crawl came to it first
	Status  int      // HTTP status, 0 where there was none
	Result  Result
	Reason  string // of what was not fetched
	Target  string // where a redirect led; empty where that is known from the trail of another address alone

	Document bool // a document file, not a page
}

// A Result says how the crawl of an address ended.
type Result int

const (
	Unfetched  Result = iota // still waiting when the crawl ended
	Page                     // a page
	Redirect                 // led elsewhere
	NotFetched               // left out by a rule
	Failed
)

// A Document is what is stored of a page.
type Document struct {
	URL    string
	Title  string
	Root   document.Root
	Words  int
	Leaves []string // hash of each passage
}

// A Report is what a webmaster wants to know. Every list is sorted and has at
// most [MaxListed] findings.
type Report struct {
	Pages  int // fetched
	Totals Totals

	Orphans    []Orphan
	Duplicates []Cluster
	Overlaps   []Overlap
	Broken     []Broken
	Redirects  []Chain
	Depths     []Depth
	Thin       []Thin
	Statuses   []Status // of all addresses that were answered
	Documents  []File
	Traps      []Trap // given by the crawler, which knows patterns
}

// Totals count the findings, listed or not.
type Totals struct{ Orphans, Duplicates, Overlaps, Broken, Redirects, Thin, Documents, Traps int }

type (
	// An Orphan is a page that no link leads to, as far as the crawl went.
	Orphan struct {
		URL string
		Why string // how it is known: "sitemap" or "stored"
	}
	// A Cluster is addresses with one and the same text.
	Cluster struct {
		Root document.Root
		URLs []string
	}
	// An Overlap is two pages that share passages.
	Overlap struct {
		A, B   string
		Shared int     // passages
		Share  float64 // of the page with fewer passages
	}
	// A Broken is a link that leads to no page.
	Broken struct {
		URL, FoundOn string
		Status       int // 0: no answer
		Reason       string
	}
	// A Chain is a redirect, from the address that is linked to.
	Chain struct {
		From, To, FoundOn string
		Through           []string // addresses between them
		Hops              int
	}
	// A Depth counts the pages that so many links lead to from the seed.
	Depth struct{ Depth, Pages int }
	// A Thin is a page with little text, or without a title.
	Thin struct {
		URL      string
		Words    int
		Untitled bool
	}
	// A File is a document file that a page links to.
	File struct {
		URL, FoundOn string
		Fetched      bool
		Reason       string // why it was not fetched
	}
	// A Trap is a pattern of addresses of which the crawl left the rest out.
	Trap struct {
		Pattern        string // "#" stands for any number, "*" for any name
		Pages, Refused int    // fetched, and left out
		Reason         string // of the first that was left out
	}
	// A Status counts answers.
	Status struct{ Status, Count int }
)

// New makes the report of a crawl. Sitemap holds the addresses that the site
// itself lists, where they were asked for.
func New(addresses []Address, documents []Document, sitemap []string) Report {
	a := &auditor{at: make(map[string]*Address, len(addresses))}
	for i := range addresses {
		a.at[addresses[i].URL] = &addresses[i]
	}
	a.addresses(addresses)
	a.orphans(documents, sitemap)
	a.duplicates(documents)
	a.overlaps(documents)
	a.thin(documents)
	return a.report
}

type auditor struct {
	at     map[string]*Address
	report Report
}

// list appends a finding and counts it.
func list[T any](all *[]T, total *int, finding T) {
	if *total++; len(*all) < MaxListed {
		*all = append(*all, finding)
	}
}

// addresses reports what shows in the addresses alone.
func (a *auditor) addresses(all []Address) {
	r := &a.report
	depths, statuses := map[int]int{}, map[int]int{}
	sorted := slices.SortedFunc(slices.Values(all), func(x, y Address) int { return cmp.Compare(x.URL, y.URL) })
	next := targets(sorted)
	for _, x := range sorted {
		if x.Status > 0 {
			statuses[x.Status]++
		}
		if x.Document {
			list(&r.Documents, &r.Totals.Documents, File{URL: x.URL, FoundOn: a.foundOn(x), Fetched: x.Result == Page, Reason: x.Reason})
		}
		switch x.Result {
		case Page:
			r.Pages++
			depths[x.Depth]++
		case Redirect:
			if len(x.Trail) == 0 { // others are parts of a chain
				list(&r.Redirects, &r.Totals.Redirects, a.chain(x, next))
			}
		case Failed:
			list(&r.Broken, &r.Totals.Broken, Broken{URL: x.URL, FoundOn: a.foundOn(x), Status: x.Status, Reason: x.Reason})
		}
	}
	slices.SortStableFunc(r.Redirects, func(x, y Chain) int { return cmp.Compare(y.Hops, x.Hops) })
	for d, n := range depths {
		r.Depths = append(r.Depths, Depth{d, n})
	}
	slices.SortFunc(r.Depths, func(x, y Depth) int { return cmp.Compare(x.Depth, y.Depth) })
	for s, n := range statuses {
		r.Statuses = append(r.Statuses, Status{s, n})
	}
	slices.SortFunc(r.Statuses, func(x, y Status) int { return cmp.Compare(x.Status, y.Status) })
}

// targets says where each redirect led.
func targets(all []Address) map[string]string {
	next := map[string]string{}
	for _, x := range all {
		for i, from := range x.Trail {
			next[from] = x.URL
			if i+1 < len(x.Trail) {
				next[from] = x.Trail[i+1]
			}
		}
	}
	for _, x := range all {
		if x.Target != "" {
			next[x.URL] = x.Target
		}
	}
	return next
}

// chain follows the redirects that begin at an address.
func (a *auditor) chain(x Address, next map[string]string) Chain {
	c := Chain{From: x.URL, To: x.URL, FoundOn: a.foundOn(x), Through: []string{}}
	passed := map[string]bool{}
	for to, ok := next[c.To]; ok && !passed[c.To]; to, ok = next[c.To] {
		passed[c.To] = true
		if c.Hops++; c.Hops > 1 {
			c.Through = append(c.Through, c.To)
		}
		c.To = to
	}
	return c
}

// foundOn returns the page whose link led to an address, through redirects.
func (a *auditor) foundOn(x Address) string {
	if len(x.Trail) > 0 {
		if first := a.at[x.Trail[0]]; first != nil {
			return first.FoundOn
		}
	}
	return x.FoundOn
}

// linked reports whether the crawl met a link to an address, or began there. It
// may know an address from a sitemap alone.
func (a *auditor) linked(url string) bool {
	x := a.at[url]
	return x != nil && (x.Depth == 0 || a.foundOn(*x) != "")
}

func (a *auditor) orphans(documents []Document, sitemap []string) {
	why := map[string]string{}
	for _, d := range documents {
		if !a.linked(d.URL) {
			why[d.URL] = "stored"
		}
	}
	for _, url := range sitemap {
		if !a.linked(url) {
			why[url] = "sitemap"
		}
	}
	for _, url := range sortedKeys(why) {
		list(&a.report.Orphans, &a.report.Totals.Orphans, Orphan{URL: url, Why: why[url]})
	}
}

func (a *auditor) duplicates(documents []Document) {
	at := map[document.Root][]string{}
	for _, d := range documents {
		at[d.Root] = append(at[d.Root], d.URL)
	}
	var all []Cluster
	for root, urls := range at {
		if len(urls) > 1 {
			slices.Sort(urls)
			all = append(all, Cluster{root, urls})
		}
	}
	slices.SortFunc(all, func(x, y Cluster) int {
		return cmp.Or(cmp.Compare(len(y.URLs), len(x.URLs)), cmp.Compare(x.URLs[0], y.URLs[0]))
	})
	a.report.Totals.Duplicates = len(all)
	a.report.Duplicates = all[:min(len(all), MaxListed)]
}

func (a *auditor) thin(documents []Document) {
	sorted := slices.SortedFunc(slices.Values(documents), func(x, y Document) int {
		return cmp.Or(cmp.Compare(x.Words, y.Words), cmp.Compare(x.URL, y.URL))
	})
	for _, d := range sorted {
		if x := a.at[d.URL]; x != nil && x.Document {
			continue // it need have neither
		}
		if d.Words < ThinWords || d.Title == "" {
			list(&a.report.Thin, &a.report.Totals.Thin, Thin{URL: d.URL, Words: d.Words, Untitled: d.Title == ""})
		}
	}
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
