package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"arborist/document"
	"arborist/ingest"
)

// maxDepth is how deep folders may be nested.
const maxDepth = 200

// A walk is one run through a folder.
type walk struct {
	root  *os.Root
	base  string // of URIs
	limit int64  // bytes of a file
	emit  func(ingest.Raw) error
	fail  func(uri string, err error)
	skip  func(uri string) // may be nil
}

func (w walk) uri(p string) string {
	if p == "." {
		return w.base
	}
	return w.base + (&url.URL{Path: p}).EscapedPath()
}

// folder emits the documents below p. Its error ends the run.
func (w walk) folder(ctx context.Context, p string, depth int) error {
	if depth > maxDepth {
		w.fail(w.uri(p), fmt.Errorf("%w: %d levels are read: move the folder up", ErrDeep, maxDepth))
		return nil
	}
	names, err := w.list(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.fail(w.uri(p), fmt.Errorf("read folder: %w: check its permissions", reason(err)))
	}
	for _, name := range names { // what was listed before an error, too
		inner, isFolder := strings.CutSuffix(name, "/")
		inner = path.Join(p, inner)
		if isFolder {
			err = w.folder(ctx, inner, depth+1)
		} else {
			err = w.file(ctx, inner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns what is read of a folder, sorted: the names of its files, and
// those of its folders with a slash after them. With a slash they sort as the
// paths below them do.
func (w walk) list(ctx context.Context, p string) ([]string, error) {
	f, err := w.root.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		entries, err := f.ReadDir(512)
		for _, e := range entries {
			switch {
			case strings.HasPrefix(e.Name(), "."):
			case e.IsDir():
				names = append(names, e.Name()+"/")
			case e.Type().IsRegular() && mediaType(e.Name()) != "":
				names = append(names, e.Name())
			case w.skip != nil:
				w.skip(w.uri(path.Join(p, e.Name())))
			}
		}
		if err != nil {
			slices.Sort(names)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return names, err
		}
	}
}

// file emits one file, or says why it cannot. Its error ends the run.
func (w walk) file(ctx context.Context, p string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	body, modified, err := w.read(p)
	if err != nil {
		w.fail(w.uri(p), err)
		return nil
	}
	return w.emit(ingest.Raw{Body: body, Location: document.Location{
		URI: w.uri(p), Source: Name, FetchedAt: modified.UTC().Truncate(time.Second), ContentType: mediaType(p),
	}})
}

// read reads a whole regular file, and nothing else.
func (w walk) read(p string) ([]byte, time.Time, error) {
	named, err := w.root.Lstat(p)
	if err != nil {
		return nil, time.Time{}, unreadable(err)
	}
	if !named.Mode().IsRegular() {
		return nil, time.Time{}, fmt.Errorf("%w: it is a %s: give the path of a file or folder", ErrNotRegular, kindOf(named.Mode()))
	}
	if named.Size() > w.limit {
		return nil, time.Time{}, w.tooLarge(named.Size())
	}
	return w.readAs(p, named)
}

// readAs reads a file that was found to be the regular file named. Whatever
// has taken its place since then is not read, and not waited for.
func (w walk) readAs(p string, named fs.FileInfo) ([]byte, time.Time, error) {
	f, err := w.root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, time.Time{}, unreadable(err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, unreadable(err)
	}
	if !os.SameFile(named, before) {
		return nil, time.Time{}, fmt.Errorf("%w: add it again", ErrChanged)
	}
	return w.readOpen(f, before)
}

func (w walk) readOpen(f *os.File, before fs.FileInfo) ([]byte, time.Time, error) {
	body := make([]byte, 0, before.Size()+1)
	for int64(len(body)) <= before.Size() {
		n, err := f.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, time.Time{}, unreadable(err)
		}
	}
	after, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, unreadable(err)
	}
	if int64(len(body)) != before.Size() || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return nil, time.Time{}, fmt.Errorf("%w: add it again", ErrChanged)
	}
	return body, before.ModTime(), nil
}

func (w walk) tooLarge(size int64) error {
	return fmt.Errorf("%w: %d bytes, the limit is %d: split it, or leave it out", ingest.ErrTooLarge, size, w.limit)
}

func unreadable(err error) error {
	return fmt.Errorf("read file: %w: check that it is there and may be read", reason(err))
}

// kindOf names what a path is, for people.
func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}
