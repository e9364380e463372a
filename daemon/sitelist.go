package daemon

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"arborist/crawl"
	"arborist/daemon/api"
)

// DefaultCrawlDepth is how many links from its seed a site is crawled where
// nobody says otherwise.
const DefaultCrawlDepth = crawl.DefaultDepth

// Limits of a list of sites.
const (
	maxSiteList = 4 << 20 // bytes
	maxSites    = 10_000
)

// ReadSeeds reads a file with an address a line; empty lines and those that
// begin with # are passed over.
func ReadSeeds(path string) (sites []api.Site, err error) {
	b, err := readSiteList(path)
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(string(b)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.ContainsAny(line, " \t") || !strings.Contains(line, "://") {
			return nil, siteListError(path, fmt.Errorf("line %d, %.100q, is not an address", number, line))
		}
		sites = append(sites, api.Site{SeedURL: line})
	}
	return checkSites(path, sites)
}

// A textbook is an entry of a manifest.
type textbook struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Author     string   `json:"author"`
	CrawlURL   string   `json:"crawl_url"`
	Depth      *int     `json:"depth"`
	MaxPages   int      `json:"max_pages"`
	AllowHosts []string `json:"allow_hosts"`
	Sitemap    string   `json:"sitemap"`
}

// ReadTextbooks reads a manifest: {"textbooks": [{"id", "title", "author",
// "crawl_url", "depth", "max_pages", "allow_hosts", "sitemap"}…]}. Only id and
// crawl_url are needed; a book without a depth has def.
func ReadTextbooks(path string, def int) (sites []api.Site, err error) {
	b, err := readSiteList(path)
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Textbooks []textbook `json:"textbooks"`
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&manifest); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			err = fmt.Errorf("a JSON %s in the place of %s", wrong.Value, cmp.Or(wrong.Field, `{"textbooks": […]}`))
		}
		return nil, siteListError(path, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, siteListError(path, errors.New("something follows the manifest"))
	}
	seen := map[string]bool{}
	for i, t := range manifest.Textbooks {
		switch {
		case t.ID == "" || t.CrawlURL == "":
			return nil, siteListError(path, fmt.Errorf("textbook %d has no id or no crawl_url", i+1))
		case seen[t.ID]:
			return nil, siteListError(path, fmt.Errorf("two textbooks have the id %.100q", t.ID))
		case t.MaxPages < 0 || t.Depth != nil && *t.Depth < 0:
			return nil, siteListError(path, fmt.Errorf("textbook %.100q: depth and max_pages are 0 or more", t.ID))
		}
		seen[t.ID] = true
		s := api.Site{ID: t.ID, Title: t.Title, Author: t.Author, SeedURL: t.CrawlURL, Depth: def, MaxPages: t.MaxPages, AllowHost: t.AllowHosts, Sitemap: t.Sitemap}
		if t.Depth != nil {
			s.Depth = *t.Depth
		}
		sites = append(sites, s)
	}
	return checkSites(path, sites)
}

func readSiteList(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, api.NewError(api.CodeNotFound, err, "check the path")
	}
	if err != nil {
		return nil, explain(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSiteList+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(b) > maxSiteList {
		return nil, siteListError(path, fmt.Errorf("too large: over %d bytes", maxSiteList))
	}
	if !utf8.Valid(b) {
		return nil, siteListError(path, errors.New("not UTF-8 text"))
	}
	return bytes.TrimPrefix(b, []byte("\uFEFF")), nil
}

func checkSites(path string, sites []api.Site) ([]api.Site, error) {
	switch {
	case len(sites) == 0:
		return nil, siteListError(path, errors.New("it lists nothing"))
	case len(sites) > maxSites:
		return nil, siteListError(path, fmt.Errorf("%d entries, at most %d", len(sites), maxSites))
	}
	return sites, nil
}

func siteListError(path string, err error) error {
	return api.NewError(api.CodeUsage, fmt.Errorf("read %q: %w", path, err), "correct the file; docs/crawl.md has its form")
}
