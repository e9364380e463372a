// Package pdf gives the text of PDF files. The files are parsed by PDFium in
// WebAssembly, in a process of its own: package worker is what runs there, this
// one starts it, talks to it and ends it. docs/decisions/014 says why.
//
// [Reader.Read] guarantees:
//
//   - The same bytes give the same text: every file is read by PDFium as it is
//     after its start, without fonts, clock or files of this machine.
//   - Bounded work: [MaxFile], [MaxPages], [MaxText], 256 MiB for PDFium, and the processor
//     time of [Limits]. A file that takes more is an error.
//   - A file that ends the worker, or has to be ended with it, is an error of this
//     file alone. The next one gets a new worker.
//   - No worker outlives this process, none is there while nothing is read.
//
// Text is what a reader sees on the pages, in the order of the file, forms as
// they are filled in. Lines stay lines, pages are apart by an empty line. Words
// that were divided at the end of a line are joined, ligatures are spelled out.
package pdf

import (
	"errors"
	"time"

	"arborist/document"
)

const (
	// MaxFile is the largest file, in bytes.
	MaxFile = document.MaxBytes
	// MaxPages is the largest number of pages of a file.
	MaxPages = 10_000
	// MaxText is the most text of a file, in bytes.
	MaxText = 16 << 20
)

var (
	// ErrFormat: it is no PDF file, or a damaged one.
	ErrFormat = errors.New("not a sound PDF file")
	// ErrEncrypted: it cannot be read without a password.
	ErrEncrypted = errors.New("PDF file is encrypted")
	// ErrLimit: it takes more than a limit of this package, or ended its worker.
	ErrLimit = errors.New("PDF file is over a limit")
	// ErrWorker: the worker cannot be started. It says nothing of the file.
	ErrWorker = errors.New("the worker that reads PDF files does not start")
	// ErrClosed: the reader was closed.
	ErrClosed = errors.New("reader of PDF files is closed")
)

// A Document is the text of a file.
type Document struct {
	Title string // from its properties, else its first line; may be empty
	Text  []byte // UTF-8; empty where no page has text
	Pages int
}

// Limits bound what one file may cost. Zero values are the defaults.
type Limits struct {
	Page    time.Duration // processor time until the next page has come; 0: 10 s
	Total   time.Duration // processor time of the file; 0: 2 min
	Silence time.Duration // wall time without a sign of life; 0: 5 min
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{{&l.Page, 10 * time.Second}, {&l.Total, 2 * time.Minute}, {&l.Silence, 5 * time.Minute}} {
		if *d.value <= 0 {
			*d.value = d.def
		}
	}
	return l
}
