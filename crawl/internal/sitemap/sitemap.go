// Package sitemap reads the addresses out of sitemaps (https://www.sitemaps.org/protocol.html):
// XML sitemaps and indexes of them, text files with an address a line, and
// either of them gzip'd. It is pure.
//
// Every sitemap is a stranger's bytes: addresses, bytes after decompression,
// nesting and the length of an address are bounded, and what is not understood is
// passed over.
package sitemap

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// The protocol's own limits on one sitemap.
const (
	MaxBytes     = 50 << 20 // after decompression
	MaxAddresses = 50_000
)

const (
	maxAddress = 2048 // bytes of an address, as the protocol has it
	maxDepth   = 32   // of elements
)

var (
	// ErrFormat: what was given is no sitemap.
	ErrFormat = errors.New("not a sitemap")
	// ErrTooLarge: it is over one of the limits.
	ErrTooLarge = errors.New("sitemap is too large")
)

// A Sitemap is what one file lists: addresses as they stand in it, not resolved
// and not judged.
type Sitemap struct {
	Pages    []string
	Sitemaps []string // of an index
}

// Parse reads a sitemap.
func Parse(raw []byte) (Sitemap, error) {
	text, err := unzip(raw)
	if err != nil {
		return Sitemap{}, err
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("<")) {
		return parseXML(text)
	}
	return parseText(text)
}

func unzip(raw []byte) ([]byte, error) {
	if !bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		if len(raw) > MaxBytes {
			return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(raw), MaxBytes)
		}
		return raw, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	text, err := io.ReadAll(io.LimitReader(z, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: over %d bytes", ErrTooLarge, MaxBytes)
	}
	return text, nil
}

// parseXML takes the loc of each url and of each sitemap, whatever namespace
// they are in: many sitemaps have a wrong one.
func parseXML(text []byte) (s Sitemap, err error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		// Addresses are ASCII, which all the usual ones agree on.
		return in, nil
	}
	var path []string
	var loc strings.Builder
	for {
		t, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return s, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if len(path) == maxDepth {
				return s, fmt.Errorf("%w: elements nested over %d deep", ErrTooLarge, maxDepth)
			}
			if len(path) == 0 && t.Name.Local != "urlset" && t.Name.Local != "sitemapindex" {
				return s, fmt.Errorf("%w: it starts with <%.40s>", ErrFormat, t.Name.Local)
			}
			path = append(path, t.Name.Local)
			loc.Reset()
		case xml.CharData:
			if loc.Len() < maxAddress+64 {
				loc.Write(t)
			}
		case xml.EndElement:
			if len(path) == 0 || path[len(path)-1] != t.Name.Local {
				return s, fmt.Errorf("%w: </%.40s> ends nothing", ErrFormat, t.Name.Local)
			}
			if err := s.take(path, strings.TrimSpace(loc.String())); err != nil {
				return s, err
			}
			path = path[:len(path)-1]
			loc.Reset()
		}
	}
	if len(path) > 0 {
		return s, fmt.Errorf("%w: it is cut off", ErrFormat)
	}
	return s, nil
}

// take takes what stood in the innermost element of path.
func (s *Sitemap) take(path []string, text string) error {
	switch strings.Join(path, "/") {
	case "urlset/url/loc":
		return add(&s.Pages, text)
	case "sitemapindex/sitemap/loc":
		return add(&s.Sitemaps, text)
	}
	return nil
}

func parseText(text []byte) (s Sitemap, err error) {
	if !utf8.Valid(text) {
		return s, fmt.Errorf("%w: neither XML nor UTF-8 text", ErrFormat)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !strings.HasPrefix(line, "http://") && !strings.HasPrefix(line, "https://") {
			return s, fmt.Errorf("%w: %.60q is no address", ErrFormat, line)
		}
		if err := add(&s.Pages, line); err != nil {
			return s, err
		}
	}
	return s, nil
}

func add(all *[]string, address string) error {
	if address == "" || len(address) > maxAddress {
		return nil
	}
	if len(*all) == MaxAddresses {
		return fmt.Errorf("%w: over %d addresses", ErrTooLarge, MaxAddresses)
	}
	*all = append(*all, address)
	return nil
}
