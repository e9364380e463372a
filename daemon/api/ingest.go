package api

// AddRequest asks to ingest files and folders.
type AddRequest struct {
	Paths   []string `json:"paths"`             // absolute
	Corpus  string   `json:"corpus,omitempty"`  // default "main"; must be empty where Private
	Private bool     `json:"private,omitempty"` // into the private crawl db
	BaseURI string   `json:"base_uri,omitempty"`
}

// AddResult counts what an [AddRequest] did.
type AddResult struct {
	Documents  int       `json:"documents"`
	Chunks     int       `json:"chunks"`
	New        int       `json:"new"`
	Unchanged  int       `json:"unchanged"`
	Superseded int       `json:"superseded"`
	Older      int       `json:"older,omitempty"` // of an archive, recorded before what is current at their URI was found: left out
	Known      int       `json:"known"`           // content that was stored already, at a URI that was free
	Skipped    int       `json:"skipped"`         // files of folders that are of no kind that is read, and links
	Bytes      int64     `json:"bytes"`
	Failed     []Failure `json:"failed"`
	// AlsoPrivate counts documents that went into a corpus and that the private
	// crawl db holds too: peers can read their text now.
	AlsoPrivate int      `json:"also_private"`
	Warnings    []string `json:"warnings,omitempty"`
}

// A Failure is one document that could not be ingested.
type Failure struct {
	URI   string `json:"uri"`
	Error string `json:"error"`
	Next  string `json:"next,omitempty"` // what to do about it
}

// CrawlRequest asks to crawl one host, or those of several seeds as one crawl.
type CrawlRequest struct {
	SeedURL   string   `json:"seed_url"`
	MoreSeeds []string `json:"more_seeds,omitempty"`
	Depth     int      `json:"depth"`
	MaxPages  int      `json:"max_pages"` // 0: no cap
	Ingest    bool     `json:"ingest"`    // store pages in the private crawl db
	Fast      bool     `json:"fast"`
	AllowHost []string `json:"allow_host,omitempty"`
	AllowNet  []string `json:"allow_net,omitempty"`    // CIDR
	Sitemap   string   `json:"from_sitemap,omitempty"` // URL of a sitemap whose pages are crawled beside what is linked; empty: none is read
	Author    string   `json:"author,omitempty"`       // of all pages; empty: what each says itself
	Documents bool     `json:"documents,omitempty"`    // fetch links to document files that can be read
	Resume    bool     `json:"resume,omitempty"`
	Fetcher   string   `json:"fetcher,omitempty"` // http, chromium, auto; empty: what config.toml says
	WARC      string   `json:"warc,omitempty"`    // folder for WARC files of the crawl, an absolute path; empty: none are written
	RPS       float64  `json:"rps,omitempty"`     // most requests a second to a host; 0: as the site asks, else one in 2 s
}

// CrawlResult counts what a crawl did. The lists are bounded; the totals count
// what they leave out as well.
type CrawlResult struct {
	Pages        int            `json:"pages"`
	Ingested     int            `json:"ingested"`
	Unchanged    int            `json:"unchanged"`
	Known        int            `json:"known,omitempty"` // whose text was stored before, from another address, now here too
	Refused      []Refusal      `json:"refused"`
	RefusedTotal int            `json:"refused_total"`
	Failed       []FetchError   `json:"failed"`
	FailedTotal  int            `json:"failed_total"`
	Classes      map[string]int `json:"failed_by_class"`
	Collapsed    int            `json:"collapsed"`           // pages with the content of another one
	Traps        []Trap         `json:"traps,omitempty"`     // patterns that ran out of budget
	Cut          []Refusal      `json:"cut,omitempty"`       // pages whose links were not all looked at
	Earlier      int            `json:"earlier,omitempty"`   // of pages: fetched before it was resumed
	NoIndex      int            `json:"noindex,omitempty"`   // of pages: not kept, as they ask
	Redirects    int            `json:"redirects,omitempty"` // answers that led elsewhere
	Requests     int            `json:"requests"`            // of this run, robots.txt included
	OffSite      int            `json:"off_site,omitempty"`  // links to other hosts
	Social       int            `json:"social,omitempty"`    // of these, to social media
	Nofollow     int            `json:"nofollow,omitempty"`  // links not followed, as the site asks
	Listed       int            `json:"listed,omitempty"`    // addresses of the site that its sitemaps hold
	// Documents counts the document files that were met, by the end of their
	// name; DocumentPages those of them that were fetched.
	Documents     map[string]int `json:"documents,omitempty"`
	DocumentPages int            `json:"documents_fetched,omitempty"`
	Capped        bool           `json:"capped,omitempty"`     // ended at max_pages with more to fetch
	Unfinished    []string       `json:"unfinished,omitempty"` // hosts that were left alone before all their pages came, and why
	WARC          []string       `json:"warc,omitempty"`       // files that were written
	Warnings      []string       `json:"warnings,omitempty"`
}

// A Trap is a pattern of addresses that ran out of budget: "#" in it stands for
// any number, "*" for any name.
type Trap struct {
	Pattern string `json:"pattern"`
	Pages   int    `json:"pages"`   // fetched
	Refused int    `json:"refused"` // not fetched
}

// A Refusal is a URL that was not fetched by rule.
type Refusal struct {
	URL    string `json:"url"`
	Reason string `json:"reason"`
}

// A FetchError is a URL that could not be fetched. Class is one of
// fetch_denied, fetch_transient, render_failed, resource_limit; or unreadable,
// where it was fetched and no text could be made of it.
type FetchError struct {
	URL   string `json:"url"`
	Class string `json:"class"`
	Error string `json:"error"`
}
