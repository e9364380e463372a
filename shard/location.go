package shard

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"time"
	"unicode/utf8"

	"arborist/document"
	"arborist/proof"
)

// A Version is a document at a location. The versions at one URI of one corpus
// are numbered from 1 by Seq; the current one is the newest, or none is.
type Version struct {
	Root         document.Root
	Location     document.Location
	Current      bool
	Seq          int64
	SupersededBy document.Root // zero while current, and after a withdrawal, and where it was withdrawn
}

// A place is where versions follow each other: a hash of corpus and URI.
type place [16]byte

func placeOf(corpus, uri string) place {
	// No origin has a NUL (see checkLocation), so no two pairs read the same.
	h := sha256.New()
	h.Write([]byte(corpus))
	h.Write([]byte{0})
	h.Write([]byte(uri))
	return place(h.Sum(nil)[:16])
}

// Caps on the strings of a location, in bytes.
const (
	MaxURI   = proof.MaxURI
	maxTitle = 4096
	maxField = 1024
)

// checkLocation refuses what could not be read back or logged as it is.
func checkLocation(l document.Location) error {
	if l.URI == "" {
		return fmt.Errorf("%w: it has no URI", ErrLocation)
	}
	for _, f := range []struct {
		name, value string
		most        int
	}{
		{"URI", l.URI, MaxURI}, {"title", l.Title, maxTitle}, {"corpus", l.Corpus, maxField},
		{"source", l.Source, maxField}, {"content type", l.ContentType, maxField},
		{"extractor", l.Extractor, maxField}, {"etag", l.ETag, maxField}, {"modified", l.Modified, maxField},
	} {
		switch {
		case len(f.value) > f.most:
			return fmt.Errorf("%w: %.80q: %s of %d bytes, at most %d are stored", ErrLocation, l.URI, f.name, len(f.value), f.most)
		case !utf8.ValidString(f.value):
			return fmt.Errorf("%w: %.80q: %s is not UTF-8", ErrLocation, l.URI, f.name)
		case hasControl(f.value):
			return fmt.Errorf("%w: %.80q: %s has control characters", ErrLocation, l.URI, f.name)
		}
	}
	return nil
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return true
		}
	}
	return false
}

// sameFound reports whether two locations tell the same of a document, but for
// the time at which it was fetched: seeing the same again is no news.
func sameFound(a, b document.Location) bool {
	a.FetchedAt, b.FetchedAt = time.Time{}, time.Time{}
	return a == b
}

// versionColumns are what scanVersion reads, from locations l joined with
// documents d and origins o.
const versionColumns = `d.root, o.origin, l.uri, l.title, l.source, l.fetched_at, l.content_type,
	l.extractor, l.status, l.etag, l.modified, l.current, l.seq, l.superseded_by`

const versionTables = `locations l JOIN documents d ON d.id = l.document JOIN origins o ON o.id = l.origin`

// scanVersion reads versionColumns and then whatever follows them.
func scanVersion(scan func(...any) error, more ...any) (Version, error) {
	var v Version
	var root, by []byte
	var fetched int64
	l := &v.Location
	into := append([]any{&root, &l.Corpus, &l.URI, &l.Title, &l.Source, &fetched, &l.ContentType,
		&l.Extractor, &l.Status, &l.ETag, &l.Modified, &v.Current, &v.Seq, &by}, more...)
	if err := scan(into...); err != nil {
		return v, err
	}
	l.FetchedAt = time.Unix(fetched, 0).UTC()
	if len(root) != len(v.Root) || by != nil && len(by) != len(v.Root) {
		return v, corrupt("location %.80q: a root of %d bytes", l.URI, len(root))
	}
	v.Root = document.Root(root)
	if by != nil {
		v.SupersededBy = document.Root(by)
	}
	if err := checkLocation(*l); err != nil {
		return v, corrupt("%w", err)
	}
	return v, nil
}

func scanVersions(rows *sql.Rows) ([]Version, error) {
	defer rows.Close()
	var all []Version
	for rows.Next() {
		v, err := scanVersion(rows.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}
