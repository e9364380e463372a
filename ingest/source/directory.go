// Package source holds the sources of documents that are not the web: a
// folder, or a single file.
//
// [Directory] guarantees:
//
//   - Nothing outside the path that was given is read: it is opened once as an
//     os.Root, and symbolic links are not followed, wherever they lead.
//   - Nothing hangs: what is no regular file (a pipe, a device) is never
//     waited for, and a file over the limit is never read.
//   - Files come in lexical order of their paths, so the same folder gives the
//     same sequence of documents.
//   - A file or folder that cannot be read is one failure and stops nothing.
//   - Memory does not grow with the number of files: one file is held at a
//     time, and the names of the folders on the way to it.
package source

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"arborist/document"
	"arborist/ingest"
)

// Name is the name of this source in a document's location.
const Name = "directory"

var (
	// ErrNotRegular: a path is a link, a pipe, a device or a socket.
	ErrNotRegular = errors.New("not a regular file")
	// ErrChanged: a file was written to while it was read.
	ErrChanged = errors.New("file changed while it was read")
	// ErrDeep: folders are nested deeper than anyone nests them.
	ErrDeep = errors.New("folders are nested too deep")
)

// Directory is a folder or a single file as an [ingest.Source].
//
// Of a folder it reads the files that end in .md, .markdown, .txt, .html, .htm,
// .xhtml, .pdf or as files of office programs do, and skips others, links, and whatever starts with a dot. A single
// file may have any name; its content decides.
//
// A document's URI is BaseURI followed by the file's path below the folder,
// with slashes, percent-encoded where a URI needs it; its time is the file's.
type Directory struct {
	Path string // folder or file
	// BaseURI is what URIs start with, up to and with its last slash. Empty:
	// "file:NAME/", NAME being the folder's name, or that of the folder around
	// the file. No more of a path of this machine goes into a shared corpus.
	BaseURI string
	MaxFile int64 // largest file that is read, in bytes; 0: 64 MiB
	// Skip, if not nil, is told the URI that each file of a folder would have that
	// is not read, because of its name or because it is a link; not of those that
	// start with a dot.
	Skip func(uri string)
}

var _ ingest.Source = Directory{}

// mediaType returns what a file of this name is declared as, or "" where
// folders are not searched for such files.
func mediaType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".txt":
		return "text/plain"
	case ".html", ".htm":
		return "text/html"
	case ".xhtml":
		return "application/xhtml+xml"
	case ".pdf":
		return "application/pdf"
	case ".docx", ".xlsx", ".pptx", ".doc", ".xls", ".ppt", ".rtf":
		return "application/octet-stream" // package extract tells them apart
	}
	return ""
}

// Documents implements [ingest.Source]. Its own error is that Path is not
// there or cannot be opened.
func (d Directory) Documents(ctx context.Context, emit func(ingest.Raw) error, fail func(string, error)) error {
	full, err := filepath.Abs(d.Path)
	if err != nil {
		return fmt.Errorf("open %s: %w", d.Path, err)
	}
	info, err := os.Lstat(full)
	if err != nil {
		return fmt.Errorf("open %s: %w", d.Path, reason(err))
	}
	folder, file := full, ""
	if !info.IsDir() {
		folder, file = filepath.Split(full)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("open %s: %w", d.Path, reason(err))
	}
	defer root.Close()
	w := walk{root: root, base: d.base(folder), limit: d.MaxFile, emit: emit, fail: fail, skip: d.Skip}
	if w.limit <= 0 {
		w.limit = document.MaxBytes
	}
	if file == "" {
		return w.folder(ctx, ".", 0)
	}
	return w.file(ctx, file)
}

func (d Directory) base(folder string) string {
	if d.BaseURI != "" {
		return d.BaseURI
	}
	name := filepath.Base(folder)
	if name == string(filepath.Separator) {
		name = "root"
	}
	return "file:" + url.PathEscape(name) + "/"
}

// reason takes the path out of an error that is going to be named with it.
func reason(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
