package api

import (
	"context"

	"arborist/document"
)

// An Auditor says what is wrong with a site that was crawled.
type Auditor interface {
	// CrawlReport reads what the latest crawl of a seed has kept, and changes
	// nothing.
	CrawlReport(ctx context.Context, req CrawlReportRequest, fn ProgressFunc) (CrawlReportResult, error)
}

// CrawlReportRequest names the crawl.
type CrawlReportRequest struct {
	SeedURL   string   `json:"seed_url"`
	MoreSeeds []string `json:"more_seeds,omitempty"` // where it was begun with several, in any order
	Sitemap   string   `json:"sitemap,omitempty"`    // URL: fetched, to find pages that no link leads to
	AllowHost []string `json:"allow_host,omitempty"`
	AllowNet  []string `json:"allow_net,omitempty"` // CIDR
	HTML      bool     `json:"html,omitempty"`      // also as a page
}

// CrawlReportResult lists at most 1,000 findings of each kind; Totals count all.
type CrawlReportResult struct {
	SeedURL    string           `json:"seed_url"`
	MoreSeeds  []string         `json:"more_seeds,omitempty"`
	Pages      int              `json:"pages"`
	Totals     map[string]int   `json:"totals"`
	Orphans    []OrphanPage     `json:"orphans"`
	Duplicates []DuplicatePages `json:"duplicates"`
	Overlaps   []PageOverlap    `json:"overlaps"`
	Broken     []BrokenLink     `json:"broken"`
	Redirects  []RedirectChain  `json:"redirects"`
	Depths     []DepthCount     `json:"depths"`
	Thin       []ThinPage       `json:"thin"`
	Statuses   []StatusCount    `json:"statuses"`
	Documents  []DocumentFile   `json:"documents"`
	Traps      []SiteTrap       `json:"traps"`
	HTML       string           `json:"html,omitempty"`
}

type (
	// An OrphanPage is one that no link leads to.
	OrphanPage struct {
		URL  string `json:"url"`
		From string `json:"known_from"` // sitemap, or stored by an earlier crawl
	}
	// DuplicatePages have the same text.
	DuplicatePages struct {
		Root document.Root `json:"root"`
		URLs []string      `json:"urls"`
	}
	// A PageOverlap is two pages that share passages.
	PageOverlap struct {
		A      string  `json:"a"`
		B      string  `json:"b"`
		Shared int     `json:"shared"` // passages
		Share  float64 `json:"share"`  // of the page with fewer
	}
	// A BrokenLink leads to no page.
	BrokenLink struct {
		URL     string `json:"url"`
		FoundOn string `json:"found_on"` // first page with the link
		Status  int    `json:"status"`   // 0: no answer
		Reason  string `json:"reason"`
	}
	// A RedirectChain leads from what is linked to elsewhere.
	RedirectChain struct {
		From    string   `json:"from"`
		To      string   `json:"to"`
		Through []string `json:"through"`
		Hops    int      `json:"hops"`
		FoundOn string   `json:"found_on"`
	}
	// A DocumentFile is a file such as a PDF that a page links to.
	DocumentFile struct {
		URL     string `json:"url"`
		FoundOn string `json:"found_on"`
		Fetched bool   `json:"fetched"`
		Reason  string `json:"reason,omitempty"` // why it was not
	}
	// A SiteTrap is a [Trap], with why its first address was not fetched.
	SiteTrap struct {
		Trap
		Reason string `json:"reason"`
	}
	// A DepthCount counts the pages so many links from the seed.
	DepthCount struct {
		Depth int `json:"depth"`
		Pages int `json:"pages"`
	}
	// A ThinPage has few words, or no title.
	ThinPage struct {
		URL      string `json:"url"`
		Words    int    `json:"words"`
		Untitled bool   `json:"untitled"`
	}
	// A StatusCount counts the answers with a status.
	StatusCount struct {
		Status int `json:"status"`
		Count  int `json:"count"`
	}
)
