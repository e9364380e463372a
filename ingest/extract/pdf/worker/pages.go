package worker

import (
	"errors"
	"fmt"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"

	"arborist/ingest/extract/pdf"
)

var (
	errSend    = errors.New("send a frame")
	errDamaged = errors.New("it cannot be read")
)

// A file is open in PDFium.
type file struct {
	pdfium pdfium.Pdfium
	ref    references.FPDF_DOCUMENT
	send   func(kind byte, payload string) error
}

// read sends the title and the pages. Its errors are errSend, errDamaged, and
// those of WebAssembly, after which the instance is no good any more.
func (f file) read() error {
	count, err := f.pdfium.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: f.ref})
	if err != nil {
		return err
	}
	if count.PageCount > pdf.MaxPages {
		return fmt.Errorf("%d pages, the limit is %d", count.PageCount, pdf.MaxPages)
	}
	if err := f.title(); err != nil {
		return err
	}
	for i := range count.PageCount {
		if err := f.page(i); err != nil {
			return fmt.Errorf("page %d: %w", i+1, err)
		}
	}
	return nil
}

func (f file) title() error {
	meta, err := f.pdfium.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: f.ref, Tag: "Title"})
	if err != nil {
		return nil // it has none, or the pages will tell
	}
	return f.write(pdf.Title, meta.Value)
}

// page sends the text of a page, with what is filled in on it.
func (f file) page(index int) error {
	page, err := f.load(index)
	if err != nil {
		return err
	}
	flat, err := f.pdfium.FPDFPage_Flatten(&requests.FPDFPage_Flatten{Page: byRef(page), Usage: requests.FPDFPage_FlattenUsageNormalDisplay})
	if err != nil {
		return err
	}
	if flat.Result == 1 { // PDFium has written it anew, but not read that
		if err := f.unload(page); err != nil {
			return err
		}
		if page, err = f.load(index); err != nil {
			return err
		}
	}
	text, err := f.pdfium.GetPageText(&requests.GetPageText{Page: byRef(page)})
	if err != nil {
		return err
	}
	if err := f.write(pdf.Page, text.Text); err != nil {
		return err
	}
	return f.unload(page)
}

func (f file) load(index int) (references.FPDF_PAGE, error) {
	page, err := f.pdfium.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: f.ref, Index: index})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPage), errors.Is(err, pdfiumerrors.ErrFormat), errors.Is(err, pdfiumerrors.ErrUnknown):
		return "", errDamaged
	case err != nil:
		return "", err
	}
	return page.Page, nil
}

func (f file) unload(page references.FPDF_PAGE) error {
	_, err := f.pdfium.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page})
	return err
}

func (f file) write(kind byte, payload string) error {
	if err := f.send(kind, payload); err != nil {
		return fmt.Errorf("%w: %w", errSend, err)
	}
	return nil
}

func byRef(page references.FPDF_PAGE) requests.Page { return requests.Page{ByReference: &page} }
