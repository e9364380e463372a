package source

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"arborist/document"
	"arborist/ingest"
)

// maxRemembered is how many answers of a file are remembered, so that a
// revisit of theirs can be read.
const maxRemembered = 200_000

// maxEntries is how many files a WACZ archive may hold.
const maxEntries = 10_000

// Archive is a web archive as an [ingest.Source]: a WARC file, gzipped or not,
// or a WACZ, which is a zip file of them.
//
// It emits the pages that were answered with status 200 as HTML, XHTML, plain
// text or Markdown, document files whatever they were answered as, and such
// pages that are resource or conversion records; robots.txt, and pages that ask not to be indexed, are left out. URIs and
// times are those of the records. A revisit is emitted with the body that it
// refers to, if that is in the same file.
//
// A file that is cut off or damaged is read up to there: that is one failure,
// which names the place, and what came before is emitted. Memory is bounded by
// MaxFile and an index of some megabytes, whatever the file says of itself.
type Archive struct {
	Path    string
	MaxFile int64 // largest body that is read, in bytes; 0: 64 MiB
}

var _ ingest.Source = Archive{}

// IsArchive reports whether a file's name is that of a web archive.
func IsArchive(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".warc") || strings.HasSuffix(name, ".warc.gz") || strings.HasSuffix(name, ".wacz")
}

// Documents implements [ingest.Source]. Its own error is that Path cannot be
// opened, or is no archive.
func (a Archive) Documents(ctx context.Context, emit func(ingest.Raw) error, fail func(string, error)) error {
	info, err := os.Lstat(a.Path)
	if err != nil {
		return fmt.Errorf("open %s: %w", a.Path, reason(err))
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("open %s: %w: it is a %s", a.Path, ErrNotRegular, kindOf(info.Mode()))
	}
	f, err := os.OpenFile(a.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", a.Path, reason(err))
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return fmt.Errorf("open %s: %w: add it again", a.Path, errors.Join(ErrChanged, err))
	}
	r := &archiveRun{limit: a.MaxFile, emit: emit, fail: fail}
	if r.limit <= 0 {
		r.limit = document.MaxBytes
	}
	name := filepath.Base(a.Path)
	if strings.HasSuffix(strings.ToLower(name), ".wacz") {
		return r.wacz(ctx, name, f, info.Size())
	}
	if err := r.warc(ctx, name, f, f, info.Size()); errors.Is(err, ErrArchive) {
		return fmt.Errorf("read %s: %w", a.Path, err)
	} else if err != nil {
		return err
	}
	return nil
}

// An archiveRun is one reading of an archive.
type archiveRun struct {
	limit int64
	emit  func(ingest.Raw) error
	fail  func(string, error)
}

// wacz reads the WARC files in a zip file. Names in it are never paths.
func (r *archiveRun) wacz(ctx context.Context, name string, f io.ReaderAt, size int64) error {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return fmt.Errorf("read %s: %w: %w", name, ErrArchive, err)
	}
	if len(z.File) > maxEntries {
		return fmt.Errorf("read %s: %w: it holds over %d files", name, ErrArchive, maxEntries)
	}
	files := slices.DeleteFunc(slices.Clone(z.File), func(e *zip.File) bool {
		return !IsArchive(e.Name) || strings.HasSuffix(strings.ToLower(e.Name), ".wacz") || strings.HasSuffix(e.Name, "/")
	})
	if len(files) == 0 {
		return fmt.Errorf("read %s: %w: there is no WARC file in it", name, ErrArchive)
	}
	slices.SortFunc(files, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range files {
		inner := fmt.Sprintf("%s!%.200q", name, e.Name)
		if err := r.entry(ctx, inner, f, e); err != nil {
			if ctx.Err() != nil || !errors.Is(err, ErrArchive) {
				return err
			}
			r.fail(inner, err)
		}
	}
	return nil
}

func (r *archiveRun) entry(ctx context.Context, name string, f io.ReaderAt, e *zip.File) error {
	if e.Method == zip.Store {
		offset, err := e.DataOffset()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrArchive, err)
		}
		section := io.NewSectionReader(f, offset, int64(e.CompressedSize64))
		return r.warc(ctx, name, section, section, section.Size())
	}
	in, err := e.Open()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	defer in.Close()
	// Deflated once more: the size that it says is not to be believed.
	whole := &spend{r: in, budget: newBudget(int64(e.CompressedSize64))}
	return r.warc(ctx, name, whole, nil, int64(e.CompressedSize64))
}

// warc reads one WARC file. again, if not nil, is the same file for reading at
// any place. Its error ends the run, but for [ErrArchive].
func (r *archiveRun) warc(ctx context.Context, name string, f io.Reader, again io.ReaderAt, size int64) error {
	w := newWARC(f, size)
	bodies := map[string]int64{} // where the answer with a payload digest is
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rec, err := w.next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, ErrArchive):
			return err
		case err != nil:
			r.fail(name, err)
			return nil
		}
		if err := r.record(w, rec, again, bodies); err != nil {
			return err
		}
	}
}

// record emits what one record holds. Its error ends the run.
func (r *archiveRun) record(w *warcReader, rec warcRecord, again io.ReaderAt, bodies map[string]int64) error {
	kind := strings.ToLower(rec.fields["warc-type"])
	uri, ok := pageURI(rec.uri())
	if !ok || kind != "response" && kind != "resource" && kind != "conversion" && kind != "revisit" {
		return nil
	}
	p, found, err := r.page(w, rec, kind)
	if kind == "revisit" && err == nil && found {
		p, found, err = r.revisited(w.spent.budget, rec, uri, again, bodies, p.header)
	}
	if _, possible := readable(p.header.Get("Content-Type")); err == nil && found && possible {
		if d := rec.fields["warc-payload-digest"]; d != "" && kind == "response" && rec.first && len(bodies) < maxRemembered {
			if _, known := bodies[d]; !known {
				bodies[d] = rec.offset
			}
		}
		var raw ingest.Raw
		var keep bool
		if raw, keep, err = p.document(uri, rec.fields["warc-date"], r.limit, w.spent.budget); err == nil && keep {
			return r.emit(raw)
		}
	}
	if err != nil {
		r.fail(uri, err)
	}
	return nil
}

// pageURI gives a record's target as a document's URI, false where it is none.
func pageURI(target string) (string, bool) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path == "/robots.txt" {
		return "", false
	}
	uri, _, _ := strings.Cut(target, "#")
	return uri, true
}

// page reads the block of a record.
func (r *archiveRun) page(w *warcReader, rec warcRecord, kind string) (page, bool, error) {
	type_ := strings.ToLower(rec.fields["content-type"])
	http := strings.HasPrefix(type_, "application/http")
	_, possible := readable(type_)
	switch {
	case !http && kind == "revisit": // it says nothing new
		return page{}, true, nil
	case !http && (kind == "response" || !possible):
		return page{}, false, nil
	}
	if rec.length > r.limit+warcHeader {
		return page{}, false, fmt.Errorf("%w: %d bytes, the limit is %d", ingest.ErrTooLarge, rec.length, r.limit)
	}
	block, err := io.ReadAll(&w.block)
	if err != nil || int64(len(block)) < rec.length {
		return page{}, false, nil // next reports it, with the place
	}
	if rec.fields["warc-truncated"] != "" {
		return page{}, false, nil
	}
	if http {
		return readMessage(block)
	}
	return page{header: textproto.MIMEHeader{"Content-Type": {rec.fields["content-type"]}}, body: block}, true, nil
}

// revisited finds the body of a revisit in the same file. A page that was seen
// again at its own address is there already.
func (r *archiveRun) revisited(b *budget, rec warcRecord, uri string, again io.ReaderAt, bodies map[string]int64, header textproto.MIMEHeader) (page, bool, error) {
	offset, known := bodies[rec.fields["warc-payload-digest"]]
	if !known || again == nil {
		refers := strings.Trim(rec.fields["warc-refers-to-target-uri"], "<>")
		if refers == uri || !strings.Contains(rec.fields["warc-profile"], "identical-payload-digest") {
			return page{}, false, nil
		}
		return page{}, false, fmt.Errorf("it is a revisit of a page that is not in this file before it: add the file with %.200s", refers)
	}
	w := newWARC(io.NewSectionReader(again, offset, 1<<62), r.limit)
	first, err := w.next()
	if err != nil {
		return page{}, false, err
	}
	if err := b.take(first.length); err != nil {
		return page{}, false, err
	}
	p, found, err := r.page(w, first, "response")
	if err == nil && found && len(header) > 0 {
		// The answer's own header is newer, the body's codings are the first's.
		if c := p.header.Values("Content-Encoding"); len(c) > 0 {
			header["Content-Encoding"] = c
		} else {
			header.Del("Content-Encoding")
		}
		p.header = header
	}
	return p, found, err
}
