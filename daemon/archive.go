package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"arborist/crawl"
	"arborist/crawl/warc"
	"arborist/daemon/api"
)

// archive begins the WARC files that a crawl is to write into dir, and gives
// what ends them and says their names; none where dir is "".
func (n *Node) archive(cfg *crawl.Config, dir string) (end func() (files []string, err error), err error) {
	if dir == "" {
		return func() ([]string, error) { return nil, nil }, nil
	}
	if err := n.checkArchive(dir); err != nil {
		return nil, err
	}
	w, err := warc.Create(warc.Config{Dir: dir, UserAgent: cfg.UserAgent})
	if err != nil {
		return nil, api.NewError(api.CodeFailed, fmt.Errorf("crawl: %w", err), "give --warc a folder that may be written to")
	}
	cfg.Recorder = w
	return func() ([]string, error) {
		err := w.Close()
		if err != nil {
			err = fmt.Errorf("crawl: %w", err)
		}
		return w.Files(), err
	}, nil
}

// checkArchive refuses a folder inside the home, but for its private part: what
// was crawled must not come to lie beside what peers may read.
func (n *Node) checkArchive(dir string) error {
	if !filepath.IsAbs(dir) {
		return api.NewError(api.CodeUsage, fmt.Errorf("crawl: --warc %s is not an absolute path", dir), "")
	}
	real, home := resolved(dir), resolved(string(n.home))
	if within(real, home) && !within(real, resolved(n.home.Private())) {
		return api.NewError(api.CodeDenied, fmt.Errorf("crawl: --warc %s is inside the home %s", dir, n.home), "give a folder elsewhere, or one below "+n.home.Private())
	}
	return nil
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))
}

// resolved follows the links of a path as far as it is there.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	} else if parent := filepath.Dir(path); errors.Is(err, os.ErrNotExist) && parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}
