package office

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

const (
	zipMagic  = "PK\x03\x04"
	zipNameAt = 30 // the name of the first part

	maxParts = 10_000
	maxXML   = 32 << 20 // bytes, of all parts that are read
	maxToken = 4 << 20  // bytes of a tag, or of text between two: five of a tag may take fifty in memory
)

// readOpenXML reads an Office Open XML file (ECMA-376): a zip file whose parts
// are XML.
func readOpenXML(ctx context.Context, body []byte) (Document, error) {
	p, err := open(ctx, body)
	if err != nil {
		return Document{}, err
	}
	root, err := p.relations("")
	if err != nil {
		return Document{}, err
	}
	main := root.first("officeDocument")
	if main == "" {
		return Document{}, fmt.Errorf("%w: it names no main part", ErrFormat)
	}
	rels, err := p.relations(main)
	if err != nil {
		return Document{}, err
	}
	kind, err := p.rootElement(main)
	if err != nil {
		return Document{}, err
	}
	var d Document
	out := &markdown{}
	switch kind {
	case "document":
		d.Kind, err = "docx", p.word(main, rels, out)
	case "workbook":
		d.Kind, err = "xlsx", p.workbook(main, rels, out)
	case "presentation":
		d.Kind, err = "pptx", p.slides(main, rels, out)
	default:
		err = fmt.Errorf("%w: its main part is <%.100s>", ErrFormat, kind)
	}
	if err != nil {
		return Document{}, err
	}
	if d.Title, err = p.title(root.first("core-properties")); err != nil {
		return Document{}, err
	}
	// Programs call a presentation "PowerPoint Presentation" where nobody did.
	if d.Title == "" || d.Kind == "pptx" && out.heading != "" {
		d.Title = out.heading
	}
	d.Markdown = bytes.TrimSpace(out.text)
	return d, nil
}

// A container is an open file.
type container struct {
	ctx   context.Context
	parts map[string]*zip.File
	left  int64 // of maxXML
}

func open(ctx context.Context, body []byte) (*container, error) {
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(z.File) > maxParts {
		return nil, fmt.Errorf("%w: %d parts, the limit is %d", ErrTooLarge, len(z.File), maxParts)
	}
	p := &container{ctx: ctx, parts: make(map[string]*zip.File, len(z.File)), left: maxXML}
	for _, f := range z.File {
		if _, twice := p.parts[f.Name]; twice {
			return nil, fmt.Errorf("%w: two parts are called %.100q", ErrFormat, f.Name)
		}
		p.parts[f.Name] = f
	}
	return p, nil
}

var errStop = errors.New("enough was read")

// each hands on the tokens of a part of XML, in which there are as many end tags as
// start tags. An [errStop] of f ends it without an error.
func (p *container) each(part string, f func(xml.Token) error) error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx) // a file may name an empty part a million times
	}
	file := p.parts[part]
	if file == nil {
		return fmt.Errorf("%w: it has no part %.100q", ErrFormat, part)
	}
	r, err := file.Open()
	if err != nil {
		return fmt.Errorf("%w: %.100q: %w", ErrFormat, part, err)
	}
	defer r.Close()
	limited := &io.LimitedReader{R: r}
	d := xml.NewDecoder(limited)
	open := 0 // elements whose end has not come
	for n := 1; ; n++ {
		most := min(p.left, maxToken) + 1
		limited.N = most
		t, err := d.RawToken()
		p.left -= most - limited.N
		switch {
		case limited.N <= 0:
			return fmt.Errorf("%w: over %d bytes of XML, or over %d from a tag to the next", ErrTooLarge, maxXML, maxToken)
		case err == io.EOF && open != 0:
			return fmt.Errorf("%w: %.100q: it is cut short", ErrFormat, part)
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%w: %.100q: %w", ErrFormat, part, err)
		}
		if n%1024 == 0 && p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		switch t.(type) {
		case xml.StartElement:
			open++
		case xml.EndElement:
			open--
		}
		if err := f(t); err == errStop {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// rootElement gives the name of a part's outermost element.
func (p *container) rootElement(part string) (name string, err error) {
	err = p.each(part, func(t xml.Token) error {
		if s, ok := t.(xml.StartElement); ok {
			name = s.Name.Local
			return errStop
		}
		return nil
	})
	return name, err
}

// title reads the title in a file's properties, if it has such a part.
func (p *container) title(part string) (string, error) {
	if p.parts[part] == nil {
		return "", nil
	}
	inside := false
	var title strings.Builder
	err := p.each(part, func(t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			inside = t.Name.Local == "title"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside && title.Len() < maxTitle {
				title.Write(t)
			}
		}
		return nil
	})
	return oneLine(title.String()), err
}

// relations are the parts that a part leads to.
type relations struct {
	byID   map[string]string // to the name of the part
	byKind map[string][]string
}

func (r relations) first(kind string) string {
	if all := r.byKind[kind]; len(all) > 0 {
		return all[0]
	}
	return ""
}

// relations reads where a part leads within the file; "" is the file itself.
func (p *container) relations(part string) (relations, error) {
	rels := relations{byID: map[string]string{}, byKind: map[string][]string{}}
	folder, name := path.Split(part)
	list := folder + "_rels/" + name + ".rels"
	if p.parts[list] == nil {
		return rels, nil
	}
	err := p.each(list, func(t xml.Token) error {
		s, ok := t.(xml.StartElement)
		if !ok || s.Name.Local != "Relationship" || attribute(s, "TargetMode") == "External" {
			return nil
		}
		target := attribute(s, "Target")
		if !strings.HasPrefix(target, "/") {
			target = path.Join("/", folder, target)
		}
		target = path.Clean(target)[1:]
		kind := path.Base(attribute(s, "Type"))
		rels.byID[attribute(s, "Id")] = target
		rels.byKind[kind] = append(rels.byKind[kind], target)
		return nil
	})
	return rels, err
}

// attribute gives an element's attribute whatever its prefix, "" where it has
// none.
func attribute(s xml.StartElement, name string) string {
	for _, a := range s.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
