package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// folderPrefix marks a source that is a folder on this machine.
const folderPrefix = "file:"

// openFolder returns the source at a folder: a tree that publish wrote, or one
// copied from a web server. The resources are looked for under [PathPrefix],
// or in the folder itself where that is not there.
func openFolder(address string) (*source, error) {
	path := strings.TrimPrefix(address, folderPrefix)
	path = strings.TrimPrefix(path, "//")
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%w: %q: a folder is named by its whole path", ErrAddress, address)
	}
	path = filepath.Clean(path)
	if below := filepath.Join(path, filepath.FromSlash(PathPrefix)); isFolder(below) {
		path = below
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	return &source{
		name:  path,
		base:  "http://folder" + PathPrefix,
		http:  &http.Client{Transport: folderTransport{root}},
		ended: root.Close,
	}, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// A folderTransport answers requests with the files of a folder, so that a
// folder is a source like any other, with the same limits and checks. Links
// out of the folder lead nowhere.
type folderTransport struct{ root *os.Root }

// RoundTrip implements [http.RoundTripper].
func (t folderTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res := &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Request: r,
	}
	name, ok := strings.CutPrefix(r.URL.Path, PathPrefix)
	if !ok {
		return nil, fmt.Errorf("%q is not below %s", r.URL.Path, PathPrefix)
	}
	f, err := t.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		res.Status, res.StatusCode, res.Body = "404 Not Found", http.StatusNotFound, io.NopCloser(bytes.NewReader(nil))
		return res, nil
	case err != nil:
		return nil, err
	}
	res.Body = f
	if from, n, ok := rangeOf(r.Header.Get("Range")); ok {
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			f.Close()
			return nil, err
		}
		res.Status, res.StatusCode = "206 Partial Content", http.StatusPartialContent
		res.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/*", from, from+n-1))
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(f, n), f}
	}
	return res, nil
}

// open opens a plain file. A pipe in its place is not waited for.
func (t folderTransport) open(name string) (*os.File, error) {
	f, err := t.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a plain file", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// rangeOf reads the one form of range that a source of ours is asked for:
// "bytes=FIRST-LAST".
func rangeOf(header string) (from, n int64, ok bool) {
	first, last, found := strings.Cut(strings.TrimPrefix(header, "bytes="), "-")
	if !found || !strings.HasPrefix(header, "bytes=") {
		return 0, 0, false
	}
	from, err1 := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	if err1 != nil || err2 != nil || from < 0 || to < from {
		return 0, 0, false
	}
	return from, to - from + 1, true
}
