package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/ingest"
	"arborist/shard"
)

// A wallWatch counts the documents that go into a corpus while the private
// store holds them too, so that their owner can be told. Nothing else changes:
// what is shared never depends on what is private.
type wallWatch struct {
	ingest.Sink
	private *shard.File
	count   *int
}

// Put implements [ingest.Sink].
func (w *wallWatch) Put(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	outcomes, err := w.Sink.Put(ctx, entries)
	if err != nil {
		return outcomes, err
	}
	roots := make([]document.Root, len(entries))
	for i, e := range entries {
		roots[i] = e.Document.Root()
	}
	has, err := w.private.Has(ctx, roots)
	if err != nil && !errors.Is(err, shard.ErrCorrupt) { // status says what is wrong with it
		return outcomes, err
	}
	for i, also := range has {
		if also && !outcomes[i].Unchanged {
			*w.count++
		}
	}
	return outcomes, nil
}

// sameNames warns of folders whose documents get the same URIs: see
// docs/decisions/004-shared-uris.md.
func sameNames(req api.AddRequest) (warnings []string) {
	if req.BaseURI != "" && len(req.Paths) > 1 {
		return []string{fmt.Sprintf("%d paths share --base-uri %s: files of the same name below them are versions of each other", len(req.Paths), req.BaseURI)}
	}
	first := make(map[string]string)
	for _, path := range req.Paths {
		folder := filepath.Clean(path)
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			folder = filepath.Dir(folder)
		}
		name := filepath.Base(folder)
		switch other, ok := first[name]; {
		case !ok:
			first[name] = folder
		case other != folder:
			warnings = append(warnings, fmt.Sprintf(
				"%s and %s are both called %q: files of the same name in them are versions of each other; add one of them with --base-uri file:OTHER/", other, folder, name))
		}
	}
	return warnings
}
