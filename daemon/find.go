package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/proof"
	"arborist/shard"
)

// Sources of hits, as the command line names them.
const (
	sourceShared = "shared"
	sourceCrawl  = "crawl"
	sourceFile   = "file"
	sourcePeer   = "peer"
)

// Limits of one page of hits.
const (
	defaultLimit = 10
	MaxLimit     = 1000
	MaxOffset    = shard.MaxHits - 1 // for a page of one hit
)

// Query implements [api.Finder]. Every hit was verified against its own proof.
func (n *Node) Query(ctx context.Context, req api.QueryRequest) (res api.QueryResult, err error) {
	start := time.Now()
	q := shard.Query{Text: req.Text, Limit: req.Limit, Offset: req.Offset, AllVersions: req.AllVersions, Any: req.Any}
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	if q.Limit < 0 || q.Limit > MaxLimit || q.Offset < 0 || q.Offset > MaxOffset {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("query: limit %d, offset %d", req.Limit, req.Offset),
			fmt.Sprintf("--limit takes 1 to %d, --offset 0 to %d", MaxLimit, MaxOffset))
	}
	if err := checkFederated(req); err != nil {
		return res, err
	}
	if req.Corpus != "" {
		info, err := n.lookupCorpus(ctx, req.Corpus)
		if err != nil {
			return res, err
		}
		q.Corpus = info.Origin
	}
	set, err := n.searchSet(req)
	if err != nil {
		return res, err
	}
	defer set.close()
	found, err := shard.Search(ctx, set.files, q)
	if err != nil {
		return res, explain(err)
	}
	res = api.QueryResult{Total: found.Total, Mode: found.Mode, Pending: found.Pending}
	res.Refused = append(res.Refused, set.failed...)
	for _, f := range found.Refused {
		res.Refused = append(res.Refused, api.Failure{URI: f.Path, Error: f.Err.Error(), Next: n.nextFor(f)})
	}
	hits, logs, refused, err := n.provable(ctx, set, found.Hits)
	if err != nil {
		return res, explain(err)
	}
	res.Refused = append(res.Refused, refused...)
	if res.Warnings, err = n.frozenWarnings(ctx, slices.Sorted(maps.Keys(logs))...); err != nil {
		return res, explain(err)
	}
	filtered, err := n.filterWarnings(ctx, req, found)
	if err != nil {
		return res, explain(err)
	}
	var proofs []*proof.Proof
	if res.Hits, proofs, refused, err = n.shown(ctx, req, set, hits, logs); err != nil {
		return res, err
	}
	res.Refused = append(res.Refused, refused...)
	if req.Bundle && len(proofs) > 0 {
		if res.Bundle, err = bundle(proofs, res.Hits); err != nil {
			return res, err
		}
	}
	if req.Peers {
		if err := n.askPeers(ctx, req, q.Limit, &res); err != nil {
			return res, err
		}
	}
	if !req.Peers || len(res.Hits) == 0 { // peers can have what is not here
		res.Warnings = append(res.Warnings, filtered...)
	}
	res.TookMS = time.Since(start).Milliseconds()
	return res, nil
}

// shown returns hits as they are shown, and their proofs, which it has checked. One
// whose proof does not hold is refused, and costs no other.
func (n *Node) shown(ctx context.Context, req api.QueryRequest, set *searchSet, hits []shard.Hit, logs provenLogs) (shown []api.Hit, proofs []*proof.Proof, refused []api.Failure, err error) {
	snippets, err := shard.NewSnippeter(req.Text)
	if err != nil {
		return nil, nil, nil, explain(err)
	}
	check := new(proof.Checker) // hits of one corpus share a signature
	shown = []api.Hit{}
	for _, h := range hits {
		hit, p, err := n.hit(check, logs, h, set.source[h.File])
		if err != nil {
			refused = append(refused, api.Failure{URI: h.Location.URI, Error: err.Error(), Next: lookForDamage})
			continue
		}
		if hit.Source == sourceCrawl {
			about, err := n.private.About(ctx, hit.URI)
			if err != nil {
				return nil, nil, nil, explain(err)
			}
			hit.Author = about.Author
		}
		hit.Rank = req.Offset + len(shown) + 1
		s := snippets.Snippet(h.Passage.Text)
		hit.Snippet = api.Snippet{Text: s.Text, Start: s.Start, Marks: s.Marks}
		shown, proofs = append(shown, hit), append(proofs, p)
	}
	return shown, proofs, refused, nil
}

// lookForDamage is the next step where a stored document or log does not prove itself.
const lookForDamage = "look for damage: arborist check"

// A searchSet is the files of one query and what each is to its owner.
type searchSet struct {
	files   []*shard.File
	source  map[*shard.File]string
	opened  []*shard.File
	failed  []api.Failure // attached files that cannot be opened
	release func()        // of attached files; may be nil
	held    func()        // of the shards; may be nil
}

func (s *searchSet) close() {
	if s.release != nil {
		s.release()
	}
	if s.held != nil {
		s.held()
	}
	for _, f := range s.opened {
		f.Close()
	}
}

func (s *searchSet) add(source string, files ...*shard.File) {
	for _, f := range files {
		s.files = append(s.files, f)
		s.source[f] = source
	}
}

func (n *Node) searchSet(req api.QueryRequest) (*searchSet, error) {
	s := &searchSet{source: map[*shard.File]string{}}
	foreign := req.IncludeShards
	if req.DB != "" {
		foreign = append([]string{req.DB}, foreign...)
	} else {
		shared, release := n.shared.Hold()
		s.held = release
		s.add(sourceShared, shared...)
		// A corpus holds shared documents only, so the crawl db cannot answer
		// for one, and its words must not weigh in.
		if !req.NoCrawlDB && req.Corpus == "" {
			s.add(sourceCrawl, n.private.File())
		}
		// Nor can a stranger's file.
		if req.Corpus == "" {
			var files []*shard.File
			files, s.failed, s.release = n.attached.acquire()
			s.add(sourceFile, files...)
		}
	}
	for _, path := range foreign {
		f, err := shard.OpenForeign(path)
		if err != nil {
			s.close()
			return nil, refusedFile("query", err)
		}
		s.opened = append(s.opened, f)
		s.add(sourceFile, f)
	}
	return s, nil
}

// hit proves one search hit and verifies the proof as a stranger would. An error
// names the file that is at fault.
func (n *Node) hit(check *proof.Checker, logs provenLogs, h shard.Hit, source string) (api.Hit, *proof.Proof, error) {
	p := passageProof(h.Passage)
	expect := proof.Expect{Root: &h.Root, Text: h.Passage.Text}
	if source == sourceShared {
		p.Log, expect.Key = logs.part(h)
	}
	claim, err := check.Verify(p, expect)
	if err != nil {
		at := h.File.Path()
		alone := *p
		alone.Log = nil
		if _, err := check.Verify(&alone, proof.Expect{Root: &h.Root, Text: h.Passage.Text}); err == nil {
			at = filepath.Join(n.shared.Dir(), shard.CorporaName)
		}
		return api.Hit{}, nil, fmt.Errorf("%s: verify chunk %d of %s: %w", at, h.Index, h.Root, err)
	}
	text, err := p.MarshalText()
	if err != nil {
		return api.Hit{}, nil, err
	}
	return api.Hit{
		Score: h.Score, Root: h.Root, Chunk: claim.Chunk, Chunks: claim.Chunks,
		URI: h.Location.URI, Title: h.Location.Title, Text: string(h.Passage.Text),
		Source: source, Corpus: h.Location.Corpus, Current: h.Current, Proof: string(text),
	}, p, nil
}

func passageProof(p shard.Passage) *proof.Proof {
	return &proof.Proof{Chunk: proof.Inclusion{Index: p.Index, Path: p.Path}, Header: p.Header}
}

// Prove implements [api.Finder]. The proof file holds the passage. Like the proof
// of a hit, it goes by what the log has said, whether that still stands or not. A
// document that is in no log gets the short form: a crash between shard and log
// can leave one in the shared shards.
func (n *Node) Prove(ctx context.Context, req api.ProveRequest) (res api.ProveResult, err error) {
	passage, source, err := n.passage(ctx, req.Root, req.Chunk)
	if err != nil {
		return res, err
	}
	p := passageProof(passage)
	p.Text = passage.Text
	if req.Corpus != "" || source == sourceShared {
		origin, err := n.listing(ctx, req.Root, req.Corpus)
		if err != nil {
			return res, err
		}
		if origin != "" {
			if p.Log, err = n.shared.Corpora().Prove(ctx, origin, req.Root); err != nil {
				return res, explain(err)
			}
			if res.Warnings, err = n.frozenWarnings(ctx, origin); err != nil {
				return res, err
			}
		}
	}
	text, err := p.MarshalText()
	if err != nil {
		return res, err
	}
	res.Text = string(text)
	res.JSON, err = p.MarshalJSON()
	return res, err
}

// frozenWarnings says of those of the corpora that are frozen what a reader of
// their proofs should know.
func (n *Node) frozenWarnings(ctx context.Context, origins ...string) (warnings []string, err error) {
	for _, origin := range origins {
		info, err := n.lookupCorpus(ctx, origin)
		if err != nil {
			return nil, err
		}
		if info.Frozen {
			warnings = append(warnings, fmt.Sprintf("corpus %s is frozen, its proofs are of what was stored before: arborist status says why and names the evidence", origin))
		}
	}
	return warnings, nil
}

// listing says which corpus a proof of root goes by: the one asked for, or the
// first that lists it now, or else has listed it, or none.
func (n *Node) listing(ctx context.Context, root document.Root, name string) (string, error) {
	now, before, err := n.shared.Corpora().Listed(ctx, root)
	if err != nil {
		return "", explain(err)
	}
	origins := append(now, before...)
	if name == "" {
		if len(origins) == 0 {
			return "", nil
		}
		return origins[0], nil
	}
	info, err := n.lookupCorpus(ctx, name)
	if err != nil {
		return "", err
	}
	if slices.Contains(origins, info.Origin) {
		return info.Origin, nil
	}
	return "", api.NewError(api.CodeNotFound, fmt.Errorf("corpus %s has never listed %s", name, root), "see where it is: arborist show "+root.String())
}

// passage finds a chunk in the shared shards, or else in the crawl db.
func (n *Node) passage(ctx context.Context, root document.Root, index uint64) (shard.Passage, string, error) {
	type store struct {
		name string
		read func(context.Context, document.Root, uint64) (shard.Passage, error)
	}
	stores := []store{{sourceShared, n.shared.Passage}, {sourceCrawl, n.private.File().Passage}}
	attached, _, release := n.attached.acquire()
	defer release()
	for _, f := range attached {
		stores = append(stores, store{sourceFile, f.Passage})
	}
	for _, store := range stores {
		p, err := store.read(ctx, root, index)
		if !errors.Is(err, shard.ErrNotFound) {
			return p, store.name, explain(err)
		}
		// The document may be here and the chunk not.
		if first, err := store.read(ctx, root, 0); err == nil {
			return p, store.name, api.NewError(api.CodeNotFound,
				fmt.Errorf("document %s has no chunk %d: it has %d, counted from 0", root, index, first.Header.Chunks), "take a smaller number")
		}
	}
	return shard.Passage{}, "", missing(root, shard.ErrNotFound)
}

// missing says of a document that it is in none of the stores, where err says
// that it is not in the one asked last.
func missing(root document.Root, err error) error {
	if errors.Is(err, shard.ErrNotFound) {
		return api.NewError(api.CodeNotFound, fmt.Errorf("document %s is not on this node", root), "see what is here: arborist query WORDS")
	}
	return explain(err)
}
