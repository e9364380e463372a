package api

// RecheckRequest asks to look at crawled pages again.
type RecheckRequest struct {
	Domain   string   `json:"domain,omitempty"` // exact host, or host:port; empty: all
	Limit    int      `json:"limit,omitempty"`  // pages at most, those checked longest ago first; 0: all
	Update   bool     `json:"update,omitempty"` // fetch stale pages and store what changed
	Fast     bool     `json:"fast,omitempty"`
	RPS      float64  `json:"rps,omitempty"`
	AllowNet []string `json:"allow_net,omitempty"` // CIDR
	Fetcher  string   `json:"fetcher,omitempty"`   // as in CrawlRequest
	WARC     string   `json:"warc,omitempty"`      // as in CrawlRequest
}

// A CheckedPage is what became of one page.
type CheckedPage struct {
	URL     string `json:"url"`
	State   string `json:"state"` // fresh, stale, gone, unreachable
	Status  int    `json:"status,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Updated bool   `json:"updated,omitempty"`  // a new version was stored
	MovedTo string `json:"moved_to,omitempty"` // where a redirect leads
}

// RecheckResult counts pages by state.
type RecheckResult struct {
	Fresh       int `json:"fresh"`
	Stale       int `json:"stale"`
	Gone        int `json:"gone"`
	Unreachable int `json:"unreachable"`
	Updated     int `json:"updated"`

	WARC []string `json:"warc,omitempty"` // files that were written
}
