package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/peer"
	"arborist/shard"
)

// maxFederated is the longest page of a query that peers are asked too: they
// answer with no more.
const maxFederated = 20

// checkFederated refuses what a query to peers cannot have.
func checkFederated(req api.QueryRequest) error {
	switch {
	case !req.Peers:
		return nil
	case req.Limit > maxFederated || req.Offset > 0:
		return api.NewError(api.CodeUsage, fmt.Errorf("query: limit %d, offset %d, with peers", req.Limit, req.Offset),
			fmt.Sprintf("with --peers, --limit takes 1 to %d, and there is no --offset", maxFederated))
	case req.Bundle || req.AllVersions || req.Any || req.DB != "" || req.Corpus != "":
		return api.NewError(api.CodeUsage, errors.New("query: peers are asked for the text alone"),
			"leave out --bundle, --all-versions, --any, --db and --corpus, or --peers; corpus:NAME in the text goes with both")
	}
	return nil
}

// askPeers sends the text of a query to peers and merges what they prove into
// the hits that were found here. Nothing else is sent, and nothing is stored.
func (n *Node) askPeers(ctx context.Context, req api.QueryRequest, limit int, res *api.QueryResult) error {
	net, err := n.network()
	if err != nil {
		return err
	}
	ask := req.Ask
	if len(ask) == 0 {
		for _, p := range net.Peers() {
			ask = append(ask, p.ID)
		}
	}
	if len(ask) == 0 {
		return api.NewError(api.CodeNotFound, errors.New("query: no peer is connected"), "join one: arborist peer join ADDRESS, with the daemon running; or name one with --ask")
	}
	ask = ask[:min(len(ask), peer.MaxAskedPeers)]
	answers, err := net.Search(ctx, ask, req.Text, limit)
	if err != nil {
		return explain(err)
	}
	snippets, err := shard.NewSnippeter(req.Text)
	if err != nil {
		return explain(err)
	}
	var all []ranked
	match := shard.MatchSome
	if res.Mode == shard.ModeAnd {
		match = shard.MatchAll
	}
	for i, h := range res.Hits {
		all = append(all, ranked{hit: h, match: match, rank: i, weight: 1})
	}
	for _, a := range answers {
		asked := api.AskedPeer{Peer: a.Peer, Hits: len(a.Hits), Refused: a.Refused, Unsent: a.Unsent, TookMS: a.Took.Milliseconds()}
		switch {
		case a.Err != nil:
			asked.Error = a.Err.Error()
		case len(a.OtherKey) > 0:
			asked.Error = otherKey(a.Peer, a.OtherKey)
		}
		res.Asked = append(res.Asked, asked)
		if !a.Unsent {
			res.Sent = req.Text
		}
		for i, h := range a.Hits {
			hit, err := peerHit(a.Peer, h)
			if err != nil {
				return err
			}
			sn := snippets.Snippet(h.Proof.Text)
			hit.Snippet = api.Snippet{Text: sn.Text, Start: sn.Start, Marks: sn.Marks}
			r := ranked{hit: hit, match: h.Match, rank: i, weight: unknownWeight}
			if h.Known {
				r.weight = 1
			}
			all = append(all, r)
		}
	}
	all, match = best(all)
	if match == shard.MatchAll && res.Mode != shard.ModeAnd {
		res.Mode, res.Total = shard.ModeAnd, 0 // what was found here has some of the words alone
	}
	var fresh int
	res.Hits, fresh = fuse(all, limit)
	res.Total += fresh
	return nil
}

// otherKey says what to do about corpora that a peer has another key of.
func otherKey(from string, origins []string) string {
	syncs := make([]string, len(origins))
	for i, o := range origins {
		syncs[i] = "arborist peer sync " + from + " " + o
	}
	return fmt.Sprintf("%v: what it found in %s is left out; bring it up to date, here and there: %s",
		peer.ErrKeyDiffers, strings.Join(origins, ", "), strings.Join(syncs, "; "))
}

func peerHit(from string, h peer.FoundHit) (api.Hit, error) {
	bare := *h.Proof
	bare.Text = nil
	text, err := bare.MarshalText()
	if err != nil {
		return api.Hit{}, err
	}
	c := h.Claim
	return api.Hit{
		Root: c.Root, Chunk: c.Chunk, Chunks: c.Chunks, URI: c.Record.URI, Title: c.Record.Title, Text: string(h.Proof.Text),
		Source: sourcePeer, Corpus: c.Origin, Current: true, Proof: string(text), Peer: from, Key: h.Key,
	}, nil
}

// A ranked is a hit in the ranking of the node that found it.
type ranked struct {
	hit    api.Hit
	match  shard.Match
	rank   int // from 0
	weight float64
}

const (
	// fusionK is the constant of reciprocal rank fusion (Cormack, Clarke and
	// Büttcher, SIGIR 2009).
	fusionK = 60
	// unknownWeight is what a place in a ranking counts where nobody here has
	// chosen the corpus: any peer can publish any number of those.
	unknownWeight = 0.5
)

func (r ranked) score() float64 { return r.weight / float64(fusionK+r.rank+1) }

// best returns the hits that match best, and how: as on one machine, passages
// with some of the words are found only where nobody has one with all.
func best(all []ranked) ([]ranked, shard.Match) {
	top := shard.MatchNone
	for _, r := range all {
		top = max(top, r.match)
	}
	return slices.DeleteFunc(all, func(r ranked) bool { return r.match < top }), top
}

// fuse merges rankings whose scores do not compare. A passage that several give counts once, at
// its best place, so that nobody gains by saying it often; and of one peer at
// most half a page is shown, unless others have no more. It returns how many
// passages are not from here, too.
func fuse(all []ranked, limit int) (page []api.Hit, fresh int) {
	type passage struct {
		root  document.Root
		chunk uint64
	}
	slices.SortStableFunc(all, func(x, y ranked) int {
		return cmp.Or(cmp.Compare(y.score(), x.score()),
			bytes.Compare(x.hit.Root[:], y.hit.Root[:]), cmp.Compare(x.hit.Chunk, y.hit.Chunk))
	})
	best := make(map[passage]int) // place in merged
	var merged []ranked
	for _, r := range all {
		key := passage{r.hit.Root, r.hit.Chunk}
		at, known := best[key]
		if !known {
			best[key] = len(merged)
			merged = append(merged, r)
			continue
		}
		// What is here is shown as such, wherever it was found best.
		if r.hit.Source != sourcePeer && merged[at].hit.Source == sourcePeer {
			merged[at].hit = r.hit
		}
	}
	var rest []ranked
	from := make(map[string]int)
	for _, r := range merged {
		if r.hit.Source == sourcePeer {
			fresh++
			if from[r.hit.Peer]++; from[r.hit.Peer] > (limit+1)/2 {
				rest = append(rest, r)
				continue
			}
		}
		if len(page) < limit {
			page = append(page, r.shown())
		}
	}
	for _, r := range rest {
		if len(page) < limit {
			page = append(page, r.shown())
		}
	}
	if page == nil {
		page = []api.Hit{}
	}
	for i := range page {
		page[i].Rank = i + 1
	}
	return page, fresh
}

func (r ranked) shown() api.Hit {
	r.hit.Score = r.score()
	return r.hit
}
