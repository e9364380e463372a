package crawl

import (
	"time"

	"arborist/crawl/robots"
)

// Politeness is what crawls of one process share so that each host meets one
// visitor, however many crawls ask it: the pace of every host and its robots.txt.
// Where crawls of one host keep to different rates, the slowest holds while it
// runs; while one of them is polite, all of them together make one request at a
// time. A host's pace outlives a crawl and is forgotten with the process. It is
// safe for concurrent use.
type Politeness struct {
	pace   *pace
	robots *robots.Cache
}

// NewPoliteness makes one for crawls with this user agent, whose product token
// is the name for which robots.txt is read ("": the product's own). An answer to
// robots.txt counts for ttl: 0 is 1 h, 24 h are the most.
func NewPoliteness(userAgent string, ttl time.Duration) *Politeness {
	return &Politeness{pace: newPace(), robots: robots.NewCache(robots.CacheConfig{Token: token(userAgent), TTL: ttl})}
}
