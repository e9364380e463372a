package shard

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"arborist/shard/internal/index"
)

// Filters say which documents a query is about, by what is known of them: each
// needs one location that passes all of them.
type filters struct {
	sites   []string // hosts in lower case, of which one must be it or above it
	corpora []string // names or origins
	origin  string   // exact; empty: any
	after   int64    // Unix seconds; 0: any
	before  int64    // Unix seconds, exclusive; 0: any
	all     bool     // locations that are no longer current count too
}

func (f filters) none() bool {
	return len(f.sites) == 0 && len(f.corpora) == 0 && f.origin == "" && f.after == 0 && f.before == 0
}

// key names the filters in a cache.
func (f filters) key() string {
	return fmt.Sprintf("%q %q %q %d %d %t", f.sites, f.corpora, f.origin, f.after, f.before, f.all)
}

// take takes a word that is a filter; it returns false where it is text.
func (f *filters) take(word string) (bool, error) {
	name, value, ok := strings.Cut(word, ":")
	if !ok || value == "" {
		return false, nil
	}
	switch strings.ToLower(name) {
	case "site":
		f.sites = append(f.sites, strings.ToLower(strings.TrimSuffix(value, "/")))
	case "corpus":
		f.corpora = append(f.corpora, value)
	case "after", "before":
		from, err := parseDay(value)
		if err != nil {
			return false, err
		}
		if strings.EqualFold(name, "after") {
			f.after = max(f.after, from)
		} else if f.before == 0 || from < f.before {
			f.before = from
		}
	default:
		return false, nil
	}
	if len(f.sites) > maxFilters || len(f.corpora) > maxFilters {
		return false, queryErrorf("use fewer", "more than %d of %s:", maxFilters, name)
	}
	return true, nil
}

// Names reports whether corpus:NAME in a query means the corpus of an origin.
func Names(name, origin string) bool {
	return origin == name || strings.HasSuffix(origin, "/"+name)
}

// CorporaIn returns what corpus: names in the text of a query, with the errors of
// [Search].
func CorporaIn(query string) ([]string, error) {
	p, err := parse(query)
	return p.filters.corpora, err
}

// parseDay returns the first second of a day, month or year.
func parseDay(s string) (int64, error) {
	for _, layout := range []string{"2006-01-02", "2006-01", "2006"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1 {
			return t.Unix(), nil
		}
	}
	return 0, queryErrorf("write it as 2026-05-01, 2026-05 or 2026", "%.40q is no date", s)
}

// passes reports whether a location passes the filters that SQL does not apply.
func (f filters) passes(origin, uri string) bool {
	if len(f.corpora) > 0 && !slices.ContainsFunc(f.corpora, func(c string) bool { return Names(c, origin) }) {
		return false
	}
	if len(f.sites) == 0 {
		return true
	}
	u, err := url.Parse(uri)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return slices.ContainsFunc(f.sites, func(s string) bool {
		return host == s || strings.ToLower(u.Host) == s || strings.HasSuffix(host, "."+s)
	})
}

const filterSQL = `SELECT d.id, d.chunks, o.origin, l.uri FROM locations l
	JOIN documents d ON d.id = l.document JOIN origins o ON o.id = l.origin
	WHERE (?1 OR l.current = 1) AND (?2 = '' OR o.origin = ?2) AND (?3 = 0 OR l.fetched_at >= ?3) AND (?4 = 0 OR l.fetched_at < ?4)`

// passing returns the chunks of the documents that pass.
func (f filters) passing(ctx context.Context, p *part) ([]index.Range, error) {
	rows, err := p.tx.QueryContext(ctx, filterSQL, f.all, f.origin, f.after, f.before)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ranges []index.Range
	for rows.Next() {
		var first, chunks int64
		var origin, uri string
		if err := rows.Scan(&first, &chunks, &origin, &uri); err != nil {
			return nil, err
		}
		if chunks > 0 && f.passes(origin, uri) {
			ranges = append(ranges, index.Range{First: first, End: first + chunks})
		}
	}
	return index.Union(ranges), rows.Err()
}

// A filterCache holds what passed filters of a file, as of one generation.
type filterCache struct {
	mu         sync.Mutex
	generation int64
	passing    map[string][]index.Range
}

// maxCachedFilters bounds the memory of a filterCache.
const maxCachedFilters = 8

// failing returns the chunks below end that do not pass filters, and whether any
// does.
func (p *part) failing(ctx context.Context, f filters, end int64) (failing []index.Range, some bool, err error) {
	if f.none() {
		return nil, true, nil
	}
	c, key := p.file.filtered, f.key()
	c.mu.Lock()
	passing, ok := c.passing[key]
	ok = ok && c.generation == p.state.generation
	c.mu.Unlock()
	if !ok {
		if passing, err = f.passing(ctx, p); err != nil {
			return nil, false, err
		}
		c.mu.Lock()
		if c.generation != p.state.generation || len(c.passing) >= maxCachedFilters || c.passing == nil {
			c.generation, c.passing = p.state.generation, make(map[string][]index.Range)
		}
		c.passing[key] = passing
		c.mu.Unlock()
	}
	return index.Complement(passing, end), len(passing) > 0, nil
}
