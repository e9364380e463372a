package car

import (
	"math"
	"time"

	"arborist/document"
)

// A manifest links the blocks of one document.
type manifest struct {
	chunks    []link // to chunks or, with lists, to lists of them
	lists     bool
	header    link
	locations []document.Location
}

func (m *manifest) encode() []byte {
	b := appendHead(nil, majorMap, 4)
	if m.lists {
		b = appendLinks(appendText(b, "lists"), m.chunks)
	} else {
		b = appendLinks(appendText(b, "chunks"), m.chunks)
	}
	b = appendText(appendText(b, "format"), formatDocument)
	b = appendLink(appendText(b, "header"), m.header)
	b = appendHead(appendText(b, "locations"), majorArray, uint64(len(m.locations)))
	for _, l := range m.locations {
		b = appendHead(b, majorMap, 4)
		b = appendText(appendText(b, "uri"), l.URI)
		b = appendText(appendText(b, "title"), l.Title)
		b = appendText(appendText(b, "source"), l.Source)
		// Nothing was fetched before 1970.
		b = appendHead(appendText(b, "fetched"), majorUint, uint64(max(l.FetchedAt.Unix(), 0)))
	}
	return b
}

// open takes the head of a map and its first key.
func (d *decoder) open(keys uint64) (first string) {
	if d.head(majorMap, "a map") != keys {
		d.fail("a map of a known form")
	}
	return d.text("a key")
}

func decodeManifest(block []byte) (m manifest, err error) {
	d := decoder{b: block}
	switch d.open(4) {
	case "chunks":
		m.chunks = d.links(codecRaw, maxLinks)
	case "lists":
		m.lists, m.chunks = true, d.links(codecDagCBOR, maxLinks)
	default:
		d.fail("the key chunks or lists")
	}
	d.key("format")
	if d.text("the format") != formatDocument {
		d.fail("the format " + formatDocument)
	}
	d.key("header")
	m.header = d.link()
	if m.header.codec() != codecRaw {
		d.fail("a link to a header")
	}
	d.key("locations")
	n := d.head(majorArray, "an array of locations")
	if n > maxLocations {
		d.fail("an array of at most 1,024 locations")
	}
	for i := uint64(0); i < n && d.err == nil; i++ {
		m.locations = append(m.locations, d.location())
	}
	return m, d.end()
}

func (d *decoder) location() (l document.Location) {
	if first := d.open(4); first != "uri" {
		d.fail("the key uri")
	}
	l.URI = d.text("a URI")
	d.key("title")
	l.Title = d.text("a title")
	d.key("source")
	l.Source = d.text("a source")
	d.key("fetched")
	at := d.uint("a time")
	if at > math.MaxInt32*64 {
		d.fail("a time of this age")
	}
	l.FetchedAt = time.Unix(int64(at), 0).UTC()
	return l
}

// A collection links the manifests of an archive.
type collection struct {
	documents []link // to manifests or, with lists, to lists of them
	lists     bool
}

func (c *collection) encode() []byte {
	b := appendHead(nil, majorMap, 2)
	if c.lists {
		b = appendLinks(appendText(b, "lists"), c.documents)
		return appendText(appendText(b, "format"), formatCollection)
	}
	b = appendText(appendText(b, "format"), formatCollection)
	return appendLinks(appendText(b, "documents"), c.documents)
}

func decodeCollection(block []byte) (c collection, err error) {
	d := decoder{b: block}
	switch d.open(2) {
	case "lists":
		c.lists, c.documents = true, d.links(codecDagCBOR, maxLinks)
		d.key("format")
		d.format()
	case "format":
		d.format()
		d.key("documents")
		c.documents = d.links(codecDagCBOR, maxLinks)
	default:
		d.fail("the key lists or format")
	}
	return c, d.end()
}

func (d *decoder) format() {
	if d.text("the format") != formatCollection {
		d.fail("the format " + formatCollection)
	}
}

// isCollection tells a collection from a manifest, by its number of keys.
func isCollection(block []byte) bool {
	d := decoder{b: block}
	return d.head(majorMap, "a map") == 2
}

func encodeList(all []link) []byte {
	return appendLinks(appendText(appendHead(nil, majorMap, 1), "links"), all)
}

func decodeList(block []byte, codec byte) ([]link, error) {
	d := decoder{b: block}
	if d.open(1) != "links" {
		d.fail("the key links")
	}
	all := d.links(codec, maxLinks)
	return all, d.end()
}

// encodeHeader returns what an archive starts with, behind its length.
func encodeHeader(roots []link) []byte {
	b := appendLinks(appendText(appendHead(nil, majorMap, 2), "roots"), roots)
	return appendHead(appendText(b, "version"), majorUint, 1)
}

func decodeHeader(block []byte) ([]link, error) {
	d := decoder{b: block}
	if d.open(2) != "roots" {
		d.fail("the key roots")
	}
	roots := d.links(codecDagCBOR, maxLinks)
	d.key("version")
	if d.uint("the version") != 1 {
		d.fail("version 1")
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, formatErrorf("it has no root")
	}
	return roots, nil
}
