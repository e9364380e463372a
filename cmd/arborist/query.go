package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"arborist/daemon"
	"arborist/daemon/api"
)

func (a *app) queryCommand() *cobra.Command {
	var req api.QueryRequest
	var bundle string
	cmd := &cobra.Command{
		Use:        "query TEXT…",
		SuggestFor: []string{"search", "find"},
		Short:      "Find passages, each with its proof",
		Long: `Find passages in every shard, in the private crawl db and in attached files, in one ranking.
Nothing leaves this machine, unless --peers or --ask is given.

  words         found in any form: walk finds walking; all of them are wanted, and
                where no passage has all, those with some are shown, which is said
  "two words"   next to each other, in this order
  -word         passages with it are left out; also -"two words"
  prefix*       any word that starts so
  site:HOST     documents found at that host or below it
  corpus:NAME   documents of the corpora of that name, or of that origin
  after:DATE    fetched on that day or later: 2026-05-01, 2026-05 or 2026 (UTC)
  before:DATE   fetched before it

Anything else is text. Quote the whole for the shell: arborist query '"two words" -three'
and put -- before a text that begins with a minus sign. docs/search.md says more.

Versions that were replaced or withdrawn are hidden unless --all-versions is given.
With --peers the text of the query goes to connected peers, or with --ask to those
named, and to nobody else. Each passage that comes back is verified down to its
publisher's signature, and merged into the ranking.
With --bundle all hits of the page, with their passages and proofs, go into one
file as well, which arborist-verify checks.`,
		Example: "  arborist query merkle inclusion proof",
		Args:    args(1, -1, "TEXT"),
		RunE: func(cmd *cobra.Command, words []string) error {
			req.Text = strings.Join(words, " ")
			if err := absolute(&req); err != nil {
				return err
			}
			if req.Bundle = bundle != ""; req.Bundle {
				if err := checkOutput(bundle); err != nil {
					return err
				}
			}
			req.Peers = req.Peers || len(req.Ask) > 0
			for i, peer := range req.Ask {
				req.Ask[i] = sourceOf(peer) // a folder answers nothing, and is told from a wrong address
			}
			return a.with(cmd.Context(), func(s api.Service) error { return a.query(cmd.Context(), s, req, bundle) })
		},
	}
	f := cmd.Flags()
	numberVar(f, &req.Limit, "limit", 10, 1, daemon.MaxLimit, "hits a page")
	numberVar(f, &req.Offset, "offset", 0, 0, daemon.MaxOffset, "hits to skip")
	f.StringVar(&req.DB, "db", "", "search this shard file alone")
	f.StringArrayVar(&req.IncludeShards, "include-shard", nil, "search this shard file too")
	f.BoolVar(&req.NoCrawlDB, "no-crawl-db", false, "leave the private crawl db out")
	f.StringVar(&req.Corpus, "corpus", "", "only documents of this corpus")
	f.BoolVar(&req.Any, "any", false, "passages with any of the words, without looking for all of them first")
	f.BoolVar(&req.AllVersions, "all-versions", false, "also versions that were replaced or withdrawn")
	f.BoolVar(&req.Peers, "peers", false, "send the text to all connected peers too")
	f.StringArrayVar(&req.Ask, "ask", nil, "send it to this peer: an ID, a full multiaddr or a URL")
	f.StringVar(&bundle, "bundle", "", "write the page's hits with their proofs to this file")
	return cmd
}

// query asks a node and shows what it answers; the bundle of the page goes to its
// file, where one is named.
func (a *app) query(ctx context.Context, s api.Service, req api.QueryRequest, bundle string) error {
	if err := a.catchUp(ctx, s); err != nil {
		return err
	}
	res, err := s.Query(ctx, req)
	if err != nil {
		return err
	}
	a.sayAsked(req, res)
	a.warn(res.Warnings)
	for _, f := range res.Refused {
		a.note("refused: %s: %s", f.URI, f.Error)
		if f.Next != "" {
			a.note("next: %s", f.Next)
		}
	}
	if res.Pending > 0 {
		a.note("%s stored and not in the search index yet: the same query finds more in a while", plural(res.Pending, "document"))
	}
	answer := res
	answer.Bundle = "" // goes to its file
	missing := noBundle(req, res, bundle)
	if req.Bundle && missing == nil {
		if err := a.keepBundle(res, bundle); err != nil {
			return err
		}
	}
	err = a.emit(struct {
		api.QueryResult
		Error *api.Error `json:"error,omitempty"`
	}{answer, missing}, func(l *lines) { printHits(l, req, res) })
	if err == nil && missing != nil {
		a.say(missing)
		return &exitError{missing.Code.ExitCode()}
	}
	if err == nil && (len(res.Refused) > 0 || silent(res)) {
		err = &exitError{api.CodePartial.ExitCode()}
	}
	return err
}

// catchUp has what is stored indexed before a query of a node that ends with it:
// nobody else will. What cannot be indexed, on a full disk for example, is not
// found, as the answer then says.
func (a *app) catchUp(ctx context.Context, s api.Service) error {
	n, alone := s.(*daemon.Node)
	if !alone {
		return nil
	}
	err := n.CatchUp(ctx, func(pending int) {
		a.note("bringing %s into the search index first: what stored them was cut short", plural(pending, "document"))
	})
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		a.note("not all that is stored can be found: %v", err)
	}
	return nil
}

// absolute makes paths mean the same to a daemon that runs elsewhere.
func absolute(req *api.QueryRequest) error {
	paths := []*string{&req.DB}
	for i := range req.IncludeShards {
		paths = append(paths, &req.IncludeShards[i])
	}
	for _, p := range paths {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return fmt.Errorf("find %s: %w", *p, err)
		}
		*p = abs
	}
	return nil
}

func printHits(l *lines, req api.QueryRequest, res api.QueryResult) {
	if len(res.Hits) == 0 {
		l.printf("nothing found for %q (%d ms)", req.Text, res.TookMS)
		return
	}
	if res.Mode == "or" {
		l.printf("no passage has all of these words; these have some, the best first")
	}
	for _, h := range res.Hits {
		title := h.Title
		if title == "" {
			title = h.URI
		}
		l.printf("%d. %s", h.Rank, title)
		place := where(h)
		if h.Author != "" {
			place += ", by " + h.Author
		}
		l.printf("   %s  (%s, score %.2f)", h.URI, place, h.Score)
		if !h.Current {
			l.printf("   an older version: it was replaced or withdrawn there")
		}
		l.b.WriteString(snippetLine(h, l.bold))
		if h.Source == "peer" {
			l.printf("   proof: chunk %d of %d, verified; keep it with: --json, or the corpus with: arborist peer sync %s %s", h.Chunk, h.Chunks, h.Peer, h.Corpus)
		} else {
			l.printf("   proof: chunk %d of %d, verified; keep it with: arborist prove %s %d", h.Chunk, h.Chunks, h.Root, h.Chunk)
		}
	}
	all := "passages with all words"
	if res.Mode == "or" {
		all = "passages with any of the words"
	}
	l.printf("%d–%d of %d %s, %d ms", res.Hits[0].Rank, res.Hits[len(res.Hits)-1].Rank, res.Total, all, res.TookMS)
}

func where(h api.Hit) string {
	switch h.Source {
	case "crawl":
		return "private crawl db"
	case "peer":
		return "from " + h.Peer + ", published in " + h.Corpus
	}
	return h.Source
}

// sayAsked says what left this machine, and what came of it.
func (a *app) sayAsked(req api.QueryRequest, res api.QueryResult) {
	if !req.Peers {
		return
	}
	sent := 0
	for _, p := range res.Asked {
		if !p.Unsent {
			sent++
		}
	}
	if sent > 0 {
		a.note("Sent to %s: %q.", plural(sent, "peer"), res.Sent)
	}
	for _, p := range res.Asked {
		switch {
		case p.Unsent:
			a.note("nothing was sent to %s: %s", p.Peer, p.Error)
		case p.Error != "" && p.Hits > 0:
			a.note("%s gave %s; %s", p.Peer, plural(p.Hits, "hit"), p.Error)
		case p.Error != "":
			a.note("no answer from %s: %s", p.Peer, p.Error)
		case p.Refused > 0:
			a.note("%s gave %s in %d ms, and %d that lack what was asked for: refused", p.Peer, plural(p.Hits, "hit"), p.TookMS, p.Refused)
		default:
			a.note("%s gave %s in %d ms", p.Peer, plural(p.Hits, "hit"), p.TookMS)
		}
	}
}

// silent reports whether a peer that was asked has not answered.
func silent(res api.QueryResult) bool {
	return slices.ContainsFunc(res.Asked, func(p api.AskedPeer) bool { return p.Error != "" })
}

// Bold on a terminal (ECMA-48, SGR).
const boldOn, boldOff = "\x1b[1m", "\x1b[22m"

// snippetLine writes the snippet of a hit in one line, what the query looked for
// in bold. Every piece of it is stripped of control characters on its own, so
// that bold is all that a passage can bring about.
func snippetLine(h api.Hit, bold bool) string {
	var b strings.Builder
	b.WriteString("   │ ")
	if h.Snippet.Start > 0 {
		b.WriteString("… ")
	}
	text, at := h.Snippet.Text, 0
	plain := func(s string) { b.WriteString(clean(strings.Map(oneLine, s))) }
	for _, m := range h.Snippet.Marks {
		if m[0] < at || m[1] < m[0] || m[1] > len(text) {
			break // of a daemon that is not ours
		}
		plain(text[at:m[0]])
		if bold {
			b.WriteString(boldOn)
		}
		plain(text[m[0]:m[1]])
		if bold {
			b.WriteString(boldOff)
		}
		at = m[1]
	}
	plain(text[at:])
	if end := h.Snippet.Start + len(text); end < len(h.Text) && strings.TrimSpace(h.Text[end:]) != "" {
		b.WriteString(" …")
	}
	return b.String() + "\n"
}

// oneLine makes a space of what would begin another line.
func oneLine(r rune) rune {
	switch r {
	case '\n', '\t', '\u2028', '\u2029':
		return ' '
	}
	return r
}
