package ingest

import (
	"context"
	"fmt"
	"runtime/debug"

	"arborist/document"
)

// A result is what a worker made of a document.
type result struct {
	entry document.Entry
	err   error
}

// extractAll is a worker: it works until there are no more jobs.
func (r *run) extractAll() {
	for j := range r.work {
		if r.ctx.Err() != nil {
			j.err = context.Cause(r.ctx)
		} else {
			j.result = r.make(j.raw)
			r.hold(j)
		}
		close(j.done)
	}
}

// hold accounts for what a job holds from now on: the text in place of the
// raw bytes.
func (r *run) hold(j *job) {
	j.raw.Body = nil
	held := int64(overhead)
	if j.err == nil {
		held += int64(len(j.entry.Document.Text()))
	}
	r.budget.resize(held - j.held)
	j.held = held
}

// make turns raw bytes into an entry. What panics below it is this document's
// error.
func (r *run) make(raw Raw) (res result) {
	defer func() {
		if v := recover(); v != nil {
			res = result{err: &PanicError{Value: v, Stack: debug.Stack()}}
		}
	}()
	loc, err := checkLocation(raw.Location, r.begun)
	if err != nil {
		return result{err: err}
	}
	text, err := r.cfg.Extract(r.ctx, loc.ContentType, loc.URI, raw.Body)
	if err != nil {
		return result{err: err}
	}
	doc, err := document.New(text.Markdown)
	if err != nil {
		return result{err: err}
	}
	if loc.Title == "" {
		loc.Title = cleanTitle(text.Title)
	}
	if loc.ContentType == "" {
		loc.ContentType = text.ContentType
	}
	loc.Extractor = text.Extractor
	return result{entry: document.Entry{Document: doc, Location: loc, Recorded: raw.Recorded}}
}

// A PanicError is a panic of an extractor, caught. It wraps [ErrPanic].
type PanicError struct {
	Value any
	Stack []byte
}

// Error names the panic's value, without the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("%v: panic: %.200v: please report it together with the document", ErrPanic, e.Value)
}

// Unwrap returns [ErrPanic].
func (e *PanicError) Unwrap() error { return ErrPanic }

func tooLarge(size, limit int64) error {
	return fmt.Errorf("%w: %d bytes, the limit is %d: split it, or leave it out", ErrTooLarge, size, limit)
}
