// Package extract turns the bytes of one document into text, by content type:
// HTML and XHTML into Markdown of their main content, files of office programs
// into Markdown of what they show, the text of PDF files, Markdown and other text
// as it is.
//
// [Extractor.Extract] guarantees:
//
//   - The same bytes, content type and URI give the same text, on any machine,
//     for one [Text.Extractor] name: text goes into Merkle roots. Only a page
//     built to exhaust the parser can meet the time limit instead of a count.
//   - Bounded work: at most about 3 s and a small multiple of the input in
//     memory for the most hostile page, and text of at most 8 times the input
//     (and 64 KiB). Office and PDF files have limits of their own: see packages
//     office and pdf.
//   - What is no text is refused with an error that names what it is.
//
// Extractor names and what they stand for:
//
//	html-article/3  main content by go-readability v2.1.3, Markdown by package
//	                markdown, parsed as by x/net/html v0.62.0 (plain pages by
//	                package tree, which gives the same)
//	html-body/3     the whole body, Markdown by package markdown
//	                (/1 of both: by html-to-markdown v2.5.2; /2: without formulas,
//	                labels of drawings, quotation marks, numbers of items and links
//	                within a page that begin with a line of white space, and of a
//	                page of several entries with one of them)
//	html-tokens/1   the text between tags with headings, lists and code blocks;
//	                for pages that are too large, too deep or hostile
//	docx/1, xlsx/1, pptx/1, doc/1, xls/1, ppt/1, rtf/1
//	                text of Office files by package office
//	pdf/1           text of the pages by package pdf, with the PDFium of go-pdfium
//	                v1.21.4
//	markdown/1      as it is, decoded to UTF-8
//	text/1          as it is, decoded to UTF-8
//
// Which of the three a page of HTML is given to may change from one release to
// the next; what each of them makes of it may not.
//
// An undeclared charset that is not UTF-8 is guessed by gogs/chardet
// v0.0.0-20211120154057.
//
// Links keep their target where the page wrote an absolute one, and only their
// text where it wrote a relative one; images leave at most their description.
package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"arborist/document"
)

// MaxBytes is the largest input, in bytes.
const MaxBytes = document.MaxBytes

var (
	// ErrUnsupported: the input is not of a type that holds text for us.
	ErrUnsupported = errors.New("content is not supported")
	// ErrEmpty: the input holds no text.
	ErrEmpty = errors.New("document holds no text")
	// ErrTooLarge: the input is over [MaxBytes], or takes more than its reader may.
	ErrTooLarge = errors.New("document is too large")
	// ErrUnavailable: what reads documents of this kind does not work now. It says
	// nothing of the document.
	ErrUnavailable = errors.New("documents of this kind cannot be read now")
)

// Text is what was found in a document.
type Text struct {
	Title       string // one line, may be empty
	Markdown    []byte // UTF-8, not yet canonical
	Extractor   string // name/version of what made it
	ContentType string // media type that the bytes were taken for, without parameters
	Canonical   string // the page's own word on its address, absolute, may be empty
}

// An Extractor turns documents into text. Its zero value refuses PDF files.
type Extractor struct {
	PDF PDFReader
}

// Extract is that of an [Extractor] without a reader of PDF files.
func Extract(ctx context.Context, contentType, uri string, body []byte) (Text, error) {
	return Extractor{}.Extract(ctx, contentType, uri, body)
}

// Extract turns body into text. contentType is what the server said, or empty;
// uri is the document's address, against which links are resolved where it is
// http or https.
//
// It fails with [ErrUnsupported], [ErrEmpty], [ErrTooLarge], [ErrUnavailable] or the
// context's error.
func (e Extractor) Extract(ctx context.Context, contentType, uri string, body []byte) (Text, error) {
	if err := ctx.Err(); err != nil {
		return Text{}, context.Cause(ctx)
	}
	if len(body) > MaxBytes {
		return Text{}, fmt.Errorf("%w: %d bytes, the limit is %d: split it, or leave it out", ErrTooLarge, len(body), MaxBytes)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return Text{}, fmt.Errorf("%w: %d bytes of nothing but white space: leave it out", ErrEmpty, len(body))
	}
	typ, err := detect(contentType, body)
	if err != nil {
		return Text{}, err
	}
	switch typ.kind {
	case kindOffice:
		return fromOffice(ctx, body)
	case kindPDF:
		return e.fromPDF(ctx, body)
	}
	text, err := decode(typ, body)
	if err != nil {
		return Text{}, err
	}
	var t Text
	switch typ.kind {
	case kindHTML:
		if typ.xml {
			text = expandEmpty(text)
		}
		t, err = fromHTML(ctx, uri, text)
	case kindMarkdown:
		t = Text{Title: markdownTitle(text), Markdown: text, Extractor: "markdown/1"}
	default:
		t = Text{Markdown: text, Extractor: "text/1"}
	}
	if err != nil {
		return Text{}, err
	}
	if len(bytes.TrimSpace(t.Markdown)) == 0 {
		return Text{}, fmt.Errorf("%w: no text between its tags: leave it out, or render it in a browser first", ErrEmpty)
	}
	t.ContentType = typ.media
	return t, nil
}
