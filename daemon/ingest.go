package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"arborist/daemon/api"
	"arborist/ingest"
	"arborist/ingest/extract"
	"arborist/ingest/source"
)

// Add implements [api.Ingester].
func (n *Node) Add(ctx context.Context, req api.AddRequest, fn api.ProgressFunc) (res api.AddResult, err error) {
	res.Failed = []api.Failure{}
	if len(req.Paths) == 0 {
		return res, api.NewError(api.CodeUsage, errors.New("add: no path given"), "name a file or a folder")
	}
	if err := n.writable(); err != nil {
		return res, err
	}
	sink, err := n.addSink(ctx, req)
	if err != nil {
		return res, err
	}
	if !req.Private {
		defer n.makeFilters(ctx)
		sink = &wallWatch{Sink: sink, private: n.private.File(), count: &res.AlsoPrivate}
		if res.Warnings, err = n.sameNames(req, strings.TrimPrefix(cmp.Or(req.Corpus, MainCorpus), n.id+"/")); err != nil {
			return res, explain(err)
		}
	}
	for _, path := range req.Paths {
		src, err := addSource(path, req)
		if err != nil {
			return res, err
		}
		if d, ok := src.(*source.Directory); ok {
			d.Skip = func(string) { res.Skipped++ }
		}
		report, err := n.run(ctx, src, sink, fn, res)
		addReport(&res, report)
		if err != nil {
			return res, err
		}
	}
	return res, nil
}

// addSink says where added documents go: the private store, or one of our own
// corpora.
func (n *Node) addSink(ctx context.Context, req api.AddRequest) (ingest.Sink, error) {
	if req.Private {
		if req.Corpus != "" {
			return nil, api.NewError(api.CodeUsage, errors.New("add: a private document is in no corpus"), "give --private or --corpus, not both")
		}
		return n.private, nil
	}
	name := cmp.Or(req.Corpus, MainCorpus)
	info, err := n.lookupCorpus(ctx, name)
	if err != nil {
		return nil, err
	}
	if !info.Own {
		return nil, api.NewError(api.CodeDenied, fmt.Errorf("add to corpus %s: %s publishes it", name, info.Publisher), "add to a corpus of your own: arborist corpus create NAME")
	}
	signer, old, err := corpusSigners(n.home, info)
	if err != nil {
		return nil, err
	}
	if err := n.beforeAppend(ctx, info); err != nil {
		return nil, err
	}
	return n.shared.Publisher(info.Origin, signer, old...), nil
}

// checkOutside refuses what lies inside a home, ours or another: keys and
// databases are never documents, and what a corpus has listed once cannot be
// taken back.
func checkOutside(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("add: %w", err)
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		home := Home(dir)
		_, errKey := os.Stat(home.PeerKey())
		_, errConfig := os.Stat(home.Config())
		if errKey == nil && errConfig == nil {
			return api.NewError(api.CodeDenied, fmt.Errorf("add %s: it is inside %s, a home with its keys", path, dir), "add documents that lie elsewhere")
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// checkBaseURI refuses what would put nonsense into a signed log.
func checkBaseURI(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme == "" || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "file" && u.Host == "" {
		return api.NewError(api.CodeUsage, fmt.Errorf("base URI %.200q is not one that documents can stand below", base), "for example --base-uri https://example.org/docs/ or --base-uri file:docs/")
	}
	return nil
}

func addSource(path string, req api.AddRequest) (ingest.Source, error) {
	if !filepath.IsAbs(path) {
		return nil, api.NewError(api.CodeUsage, fmt.Errorf("add %s: not an absolute path", path), "")
	}
	if _, err := os.Lstat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, api.NewError(api.CodeNotFound, fmt.Errorf("add %s: no such file or folder", path), "check the path")
		}
		return nil, api.NewError(api.CodeFailed, fmt.Errorf("add: %w", err), "check the permissions")
	}
	if err := checkOutside(path); err != nil {
		return nil, err
	}
	if err := checkBaseURI(req.BaseURI); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() && source.IsArchive(path) {
		if req.BaseURI != "" {
			return nil, api.NewError(api.CodeUsage, fmt.Errorf("add %s: the documents of a web archive have URIs of their own", path), "leave out --base-uri")
		}
		return source.Archive{Path: path}, nil
	}
	d := &source.Directory{Path: path, BaseURI: req.BaseURI}
	if d.BaseURI != "" && !strings.HasSuffix(d.BaseURI, "/") {
		d.BaseURI += "/"
	}
	// Private documents keep their place on this machine in their URI; shared
	// ones never show it to peers.
	if req.Private && d.BaseURI == "" {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
		if st, err := os.Stat(path); err == nil && !st.IsDir() {
			u.Path = filepath.ToSlash(filepath.Dir(path))
		}
		d.BaseURI = u.JoinPath("/").String()
	}
	return d, nil
}

// run runs a source through the pipeline into a sink and reports progress on
// top of what base counts already.
func (n *Node) run(ctx context.Context, src ingest.Source, sink ingest.Sink, fn api.ProgressFunc, base api.AddResult) (ingest.Report, error) {
	report, err := ingest.Run(ctx, src, sink, ingest.Config{Extract: n.extract}, func(p ingest.Progress) {
		if fn != nil {
			stage := "store"
			if p.Reading {
				stage = "read"
			}
			fn(api.Progress{Stage: stage, Done: int64(base.Documents + p.Documents), Bytes: base.Bytes + p.Bytes, Item: p.URI})
		}
	})
	if err != nil {
		n.wakeIndexer() // for what it stored
	}
	return report, explain(err)
}

// extract makes text of what was added or fetched.
func (n *Node) extract(ctx context.Context, contentType, uri string, body []byte) (extract.Text, error) {
	var e extract.Extractor
	if n.pdf != nil {
		e.PDF = n.pdf
	}
	return e.Extract(ctx, contentType, uri, body)
}

func addReport(res *api.AddResult, r ingest.Report) {
	res.Documents += r.Documents
	res.Chunks += r.Chunks
	res.New += r.New
	res.Unchanged += r.Unchanged
	res.Superseded += r.Superseded
	res.Older += r.Older
	res.Known += r.Known
	res.Bytes += r.Bytes
	for _, f := range r.Failed {
		res.Failed = append(res.Failed, api.Failure{URI: f.URI, Error: f.Err.Error()})
	}
}
