// Package source holds the sources of documents that are not the web: a
// directory or a single file.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"arborist/document"
	"arborist/ingest"
)

// Directory is a folder or a single file as an [ingest.Source].
type Directory struct {
	Path    string // folder or file
	BaseURI string // URIs are this and the slash path below Path; default "file:NAME/"
	MaxFile int64  // bytes; 0: 64 MiB
}

var _ ingest.Source = Directory{}

const name = "directory"

// types maps the extensions read in a folder to what they are declared as.
func types(ext string) string {
	switch strings.ToLower(ext) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".txt":
		return "text/plain"
	case ".html", ".htm":
		return "text/html"
	case ".xhtml":
		return "application/xhtml+xml"
	}
	return ""
}

// Documents implements [ingest.Source].
func (d Directory) Documents(ctx context.Context, emit func(ingest.Raw) error, fail func(string, error)) error {
	info, err := os.Lstat(d.Path)
	if err != nil {
		return fmt.Errorf("add %s: %w", d.Path, err)
	}
	dir, file := d.Path, "."
	if !info.IsDir() {
		dir, file = filepath.Split(d.Path)
		if dir == "" {
			dir = "."
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("add %s: %w", d.Path, err)
	}
	defer root.Close()
	base := d.BaseURI
	if base == "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return fmt.Errorf("add %s: %w", d.Path, err)
		}
		base = "file:" + url.PathEscape(filepath.Base(abs)) + "/"
	}
	return fs.WalkDir(root.FS(), file, func(p string, e fs.DirEntry, err error) error {
		uri := base + (&url.URL{Path: p}).EscapedPath()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			fail(uri, err)
			return nil
		case e.IsDir():
			if p != "." && strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		case info.IsDir() && (!e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") || types(path.Ext(p)) == ""):
			return nil
		}
		raw, err := d.read(root, p, uri)
		if err != nil {
			fail(uri, err)
			return nil
		}
		return emit(raw)
	})
}

func (d Directory) read(root *os.Root, p, uri string) (ingest.Raw, error) {
	info, err := root.Lstat(p)
	if err != nil {
		return ingest.Raw{}, err
	}
	if !info.Mode().IsRegular() {
		return ingest.Raw{}, errors.New("not a regular file: give a file or a folder")
	}
	limit := d.MaxFile
	if limit <= 0 {
		limit = 64 << 20
	}
	if info.Size() > limit {
		return ingest.Raw{}, fmt.Errorf("%w: %d bytes, the limit is %d: split it, or leave it out", ingest.ErrTooLarge, info.Size(), limit)
	}
	body, err := root.ReadFile(p)
	if err != nil {
		return ingest.Raw{}, err
	}
	return ingest.Raw{Body: body, Location: document.Location{
		URI: uri, Source: name, FetchedAt: info.ModTime().UTC().Truncate(1e9), ContentType: types(path.Ext(p)),
	}}, nil
}
