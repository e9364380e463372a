package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/document/car"
	"arborist/ingest"
	"arborist/ingest/source"
	"arborist/shard"
	"arborist/shard/corpus"
)

// Export implements [api.Carrier]. The file appears under its name when it is
// whole.
func (n *Node) Export(ctx context.Context, req api.ExportRequest, fn api.ProgressFunc) (res api.ExportResult, err error) {
	res.File = req.File
	if !filepath.IsAbs(req.File) {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("export to %q: not an absolute path", req.File), "")
	}
	if _, err := os.Lstat(req.File); !errors.Is(err, fs.ErrNotExist) {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("export to %s: something is there already", req.File), "give a new file, or remove that one")
	}
	list, err := n.exported(ctx, req)
	if err != nil {
		return res, err
	}
	part, err := os.CreateTemp(filepath.Dir(req.File), "."+filepath.Base(req.File)+".part-*")
	if err != nil {
		return res, explain(fmt.Errorf("export to %s: %w", req.File, err))
	}
	defer func() {
		if err != nil {
			err = explain(fmt.Errorf("export to %s: %w", req.File, errors.Join(err, part.Close(), os.Remove(part.Name()))))
		}
	}()
	w, err := car.NewWriter(part)
	if err != nil {
		return res, err
	}
	for i, e := range list {
		if err := ctx.Err(); err != nil {
			return res, err
		}
		d, private, err := n.document(ctx, e.root)
		if err != nil {
			return res, err
		}
		if private {
			res.Private++
		}
		if err := w.Add(car.Item{Document: d, Locations: e.locations}); err != nil {
			return res, err
		}
		if fn != nil {
			fn(api.Progress{Stage: "write", Done: int64(i + 1), Total: int64(len(list)), Bytes: w.Bytes()})
		}
	}
	if res.CID, err = w.Finish(); err != nil {
		return res, err
	}
	res.Documents, res.Bytes = w.Documents(), w.Bytes()
	// A link and not a rename: it never replaces what somebody put there meanwhile.
	if err = errors.Join(part.Sync(), part.Close()); err != nil {
		return res, err
	}
	if err = os.Link(part.Name(), req.File); err != nil {
		return res, err
	}
	return res, explain(os.Remove(part.Name()))
}

// An export is a document with the places that go with it.
type export struct {
	root      document.Root
	locations []document.Location
}

// exported says what goes into an archive.
func (n *Node) exported(ctx context.Context, req api.ExportRequest) ([]export, error) {
	if len(req.What) > 0 {
		if req.Corpus != "" {
			return nil, api.NewError(api.CodeUsage, errors.New("export: both a corpus and documents are named"), "give --corpus, or ROOT and URI, not both")
		}
		return n.exportedByName(ctx, req.What)
	}
	name := req.Corpus
	if name == "" {
		name = MainCorpus
	}
	info, err := n.lookupCorpus(ctx, name)
	if err != nil {
		return nil, err
	}
	var all []export
	at := map[document.Root]int{}
	for offset := 0; ; offset += corpus.MaxRecords {
		past, err := n.shared.Corpora().At(ctx, info.Origin, info.Size, corpus.MaxRecords, offset)
		if err != nil {
			return nil, explain(err)
		}
		for _, e := range past.Page {
			r := e.Record
			i, ok := at[r.Header.Root]
			if !ok {
				i = len(all)
				at[r.Header.Root], all = i, append(all, export{root: r.Header.Root})
			}
			all[i].locations = append(all[i].locations, document.Location{URI: r.URI, Title: r.Title, Source: r.Source, FetchedAt: r.FetchedAt})
		}
		if len(past.Page) < corpus.MaxRecords {
			break
		}
	}
	if len(all) == 0 {
		return nil, api.NewError(api.CodeNotFound, fmt.Errorf("export: corpus %s lists no documents", info.Name), "add some: arborist add PATH")
	}
	return all, nil
}

func (n *Node) exportedByName(ctx context.Context, what []string) (all []export, err error) {
	seen := map[document.Root]bool{}
	for _, name := range what {
		root, err := document.ParseRoot(name)
		if err != nil {
			if root, err = n.currentRoot(ctx, name); err != nil {
				return nil, err
			}
		}
		if seen[root] {
			continue
		}
		seen[root] = true
		e := export{root: root}
		shown, err := n.Show(ctx, root.String())
		if err != nil {
			return nil, err
		}
		for _, v := range shown.Locations {
			if v.Current {
				e.locations = append(e.locations, document.Location{URI: v.URI, Title: v.Title, Source: v.Source, FetchedAt: v.FetchedAt})
			}
		}
		all = append(all, e)
	}
	return all, nil
}

// Import implements [api.Carrier].
func (n *Node) Import(ctx context.Context, req api.ImportRequest, fn api.ProgressFunc) (res api.AddResult, err error) {
	res.Failed = []api.Failure{}
	if !filepath.IsAbs(req.File) {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("import %q: not an absolute path", req.File), "")
	}
	if err := n.writable(); err != nil {
		return res, err
	}
	sink, err := n.addSink(ctx, api.AddRequest{Corpus: req.Corpus, Private: req.Private})
	if err != nil {
		return res, err
	}
	if !req.Private {
		defer n.makeFilters(ctx)
	}
	src := source.CAR{Path: req.File}
	if fn == nil {
		fn = func(api.Progress) {}
	}
	src.Progress = func(bytes int64) { fn(api.Progress{Stage: "verify", Bytes: bytes, Item: req.File}) }
	report, err := ingest.Run(ctx, src, sink, ingest.Config{Extract: source.Canonical}, func(p ingest.Progress) {
		fn(api.Progress{Stage: "store", Done: int64(p.Documents), Bytes: p.Bytes, Item: p.URI})
	})
	addReport(&res, report)
	switch {
	case errors.Is(err, car.ErrFormat):
		return res, api.NewError(api.CodeInvalid, fmt.Errorf("import: %w", err), "get the archive again; it must be CARv1 with the blocks of docs/formats.md")
	case errors.Is(err, fs.ErrNotExist):
		return res, api.NewError(api.CodeNotFound, fmt.Errorf("import: %w", err), "check the path")
	}
	return res, explain(err)
}

// document returns a document from wherever it is on this machine, hashed
// whole, and whether it is out of every peer's reach.
func (n *Node) document(ctx context.Context, root document.Root) (d *document.Document, private bool, err error) {
	if d, err = n.shared.Document(ctx, root); err == nil {
		return d, false, nil
	}
	if errors.Is(err, shard.ErrNotFound) {
		d, err = n.private.File().Document(ctx, root)
	}
	if errors.Is(err, shard.ErrNotFound) {
		d, err = n.attachedDocument(ctx, root)
	}
	if err != nil {
		return nil, false, missing(root, err)
	}
	return d, true, nil
}
