package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxURL is the longest URL asked for, in bytes: what servers commonly take.
const maxURL = 8 << 10

// A target is a URL in the two forms that a fetch needs: as text for resolving
// against, net/url for the transport.
type target struct {
	text   string // as WHATWG rules spell it
	origin string // its beginning; empty where the URL is not one of package weburl
	url    *url.URL
}

// target reads the URL of a request: most are normal already, below an origin
// that was asked before, and need no rule of the standard.
func (h *HTTP) target(raw string) (target, error) {
	u, err := h.parser.Parse(raw)
	if err != nil {
		return parseTarget(raw) // what it refuses may be asked for, or its error says more
	}
	host := strings.TrimPrefix(u.Origin(), u.Scheme()+"://")
	t := newTarget(u.String(), url.URL{Scheme: u.Scheme(), Host: host, RawQuery: u.Query()}, u.Path())
	t.origin = u.Origin()
	return t, nil
}

// parseTarget reads raw by WHATWG rules. net/url is stricter (it refuses
// "/a%zz"), so the request target is carried over as it stands.
func parseTarget(raw string) (target, error) {
	if len(raw) > maxURL {
		return target{}, fmt.Errorf("%d bytes long, the limit is %d", len(raw), maxURL)
	}
	w, err := whatwg.Parse(raw)
	if err != nil {
		return target{}, err
	}
	if w.Hostname() == "" {
		return target{}, errors.New("no host; write it as http://host/path")
	}
	u := url.URL{Scheme: w.Scheme(), Host: w.Host(), RawQuery: w.Query()}
	if w.Username() != "" || w.Password() != "" {
		u.User = url.UserPassword(w.Username(), w.Password())
	}
	return newTarget(w.Href(true), u, w.Pathname()), nil
}

// newTarget gives the target of u, whose path is still missing.
func newTarget(text string, u url.URL, path string) target {
	u.ForceQuery = u.RawQuery == "" && strings.HasSuffix(text, "?")
	if p, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = p, path
	}
	if u.EscapedPath() != path {
		// Not expressible as Path: the opaque form goes out untouched. One
		// that starts with two slashes is read as an authority, so it is
		// given in full.
		u.Path, u.RawPath, u.Opaque = "", "", path
		if strings.HasPrefix(path, "//") {
			u.Opaque = "//" + u.Host + path
		}
	}
	return target{text: text, url: &u}
}

// resolve gives the absolute URL that a Location header names, without its
// fragment, or "" where it cannot be read.
func (t target) resolve(location string) string {
	if location == "" || len(location) > maxURL {
		return ""
	}
	w, err := whatwg.ParseRef(t.text, location)
	if err != nil {
		return ""
	}
	return w.Href(true)
}
