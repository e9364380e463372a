package api

import "context"

// A SiteCrawler crawls many sites in one run.
type SiteCrawler interface {
	// CrawlSites crawls each site by its own bounds. Sites that share a host are
	// crawled one after the other, others side by side; one that fails stops no
	// other. Progress has the page's address as its Item.
	CrawlSites(ctx context.Context, req CrawlSitesRequest, fn ProgressFunc) (CrawlSitesResult, error)
	// CountSites says what is stored of each site.
	CountSites(ctx context.Context, req CrawlSitesRequest) (SiteCounts, error)
}

// A Site is one that is to be crawled.
type Site struct {
	ID        string   `json:"id,omitempty"`
	Title     string   `json:"title,omitempty"`
	Author    string   `json:"author,omitempty"`
	SeedURL   string   `json:"seed_url"`
	Depth     int      `json:"depth"`
	MaxPages  int      `json:"max_pages"` // 0: no cap
	AllowHost []string `json:"allow_host,omitempty"`
	Sitemap   string   `json:"from_sitemap,omitempty"` // as in [CrawlRequest]
}

// CrawlSitesRequest says how; see [CrawlRequest].
type CrawlSitesRequest struct {
	Sites     []Site   `json:"sites"`
	Ingest    bool     `json:"ingest"`
	Fast      bool     `json:"fast"`
	Documents bool     `json:"documents,omitempty"`
	Resume    bool     `json:"resume,omitempty"`
	AllowNet  []string `json:"allow_net,omitempty"`
	Fetcher   string   `json:"fetcher,omitempty"`
	RPS       float64  `json:"rps,omitempty"`
	WARC      string   `json:"warc,omitempty"` // as in [CrawlRequest]; each site has files of its own
}

// CrawlSitesResult has one result for each site, in their order.
type CrawlSitesResult struct {
	Sites []SiteResult `json:"sites"`
}

// A SiteResult is what came of one site.
type SiteResult struct {
	ID      string `json:"id,omitempty"`
	SeedURL string `json:"seed_url"`
	CrawlResult
	Error *Error `json:"error,omitempty"` // why it ended early
}

// SiteCounts counts what is stored.
type SiteCounts struct {
	Sites []SiteCount `json:"sites"`
}

// A SiteCount is what is stored of what the latest crawl of a site fetched.
type SiteCount struct {
	ID      string `json:"id,omitempty"`
	Title   string `json:"title,omitempty"`
	Author  string `json:"author,omitempty"`
	SeedURL string `json:"seed_url"`
	Pages   int    `json:"pages"`
	Words   int64  `json:"words"`
}
