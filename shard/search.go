package shard

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"arborist/document"
	"arborist/shard/internal/index"
)

// A Hit is a passage that was found. Its text was hashed against the root, and
// in a foreign file the words of the query were found in it again.
type Hit struct {
	Score    float64 // BM25, higher is better; comparable within one result alone
	Root     document.Root
	Index    uint64 // of the chunk
	File     *File  // that holds it
	Passage  Passage
	Location document.Location // in Query.Corpus where that is set, a current one where there is one
	Current  bool              // Location is; always true without Query.AllVersions
}

// Results is a page of hits.
type Results struct {
	Hits  []Hit  // best first; equal scores by root, then index
	Total int    // passages that match, over all pages
	Mode  string // "and": all phrases are in each hit; "or": no passage has all
	// Refused are files that failed while they were searched: foreign ones, and
	// damaged ones of ours. The hits are those of the other files alone.
	Refused []*FileError
	// Pending is how many documents are stored and not in the index yet: they
	// were not searched.
	Pending int
	// NonePass: the filters of the query leave no document of any file.
	NonePass bool
}

// The values of Results.Mode.
const (
	ModeAnd = "and"
	ModeOr  = "or"
)

// Search finds the best passages of all files together. Every file is ranked
// with the statistics of all: the result is that of one file with everything,
// to the bit, however the documents are spread. A document in several files
// counts once and is found in the first of them.
//
// Passages that have all phrases of the query are looked for first; where there
// is none, those that have any, which Results.Mode says.
//
// A query that cannot be run fails with [ErrNoWords] or a [*QueryError]. A
// foreign file that fails is left out, and so is one of ours that is damaged,
// unless it was the only one; a file of ours that fails for another reason, as
// a full disk, fails the search.
func Search(ctx context.Context, files []*File, q Query) (Results, error) {
	r, err := searchAll(ctx, files, q)
	if err != nil {
		return Results{}, fmt.Errorf("search: %w", err)
	}
	return r, nil
}

func searchAll(ctx context.Context, files []*File, q Query) (Results, error) {
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	if q.Limit < 0 || q.Offset < 0 || q.Limit > MaxHits || q.Offset > MaxHits-q.Limit {
		return Results{}, queryErrorf("ask for fewer hits, or say more of what is looked for", "limit %d and offset %d; both from 0, together at most %d", q.Limit, q.Offset, MaxHits)
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, MaxSearchTime)
	defer cancel()
	var refused []*FileError
	for {
		r, err := searchFiles(ctx, files, q)
		if err == nil {
			r.Refused = refused
			return r, nil
		}
		if ctx.Err() != nil && outer.Err() == nil {
			return Results{}, queryErrorf("use fewer or rarer words", "took over %s", MaxSearchTime)
		}
		if outer.Err() != nil {
			return Results{}, outer.Err()
		}
		// Without the file that lies, everything has to be ranked anew: its
		// numbers are in all scores.
		rest := slices.Clone(files)
		for _, fe := range fileErrors(err) {
			rest = slices.DeleteFunc(rest, func(f *File) bool {
				if f.path != fe.Path || !f.foreign && !isCorrupt(fe) {
					return false
				}
				refused = append(refused, fe)
				return true
			})
		}
		if len(rest) == len(files) || len(rest) == 0 {
			return Results{}, err
		}
		files = rest
	}
}

// fileErrors finds every FileError in a tree of joined errors.
func fileErrors(err error) []*FileError {
	if fe, ok := err.(*FileError); ok {
		return []*FileError{fe}
	}
	switch x := err.(type) {
	case interface{ Unwrap() []error }:
		var all []*FileError
		for _, e := range x.Unwrap() {
			all = append(all, fileErrors(e)...)
		}
		return all
	case interface{ Unwrap() error }:
		return fileErrors(x.Unwrap())
	}
	return nil
}

// A search is one query over snapshots of its files.
type search struct {
	query Query
	terms parsed
	parts []*part // in the caller's order
	all   *round
	any   *round // the same as all, unless a clause has several words
	last  *round // the one whose rows are shown
	keep  int    // hits to know: offset and limit
}

// A round ranks all passages by some clauses.
type round struct {
	clauses []index.Clause
	scorer  *index.Scorer
	zero    bool // no passage holds some clause
}

// A part is a file within a search.
type part struct {
	file      *File
	tx        *sql.Conn // sees one state of the file
	held      *sql.Rows // as long as this is open
	state     state
	inverted  *inverted
	uncounted []index.Range // documents that an earlier file shows
	unseen    []index.Range // those of them that it returns
	out       []index.Range // all chunks that are no hits: hidden, unseen, filtered
	passing   bool          // some document passes the filters
	matches   map[*round][]*index.Matches
	not       []*index.Matches
	rows      []index.Row
	total     int64
	pending   int // documents that are not in the index
}

func searchFiles(ctx context.Context, files []*File, q Query) (Results, error) {
	if len(files) == 0 {
		return Results{}, errors.New("no files to search")
	}
	s := &search{query: q, keep: q.Offset + q.Limit}
	var err error
	if s.terms, err = parse(q.Text); err != nil {
		return Results{}, err
	}
	s.terms.filters.origin, s.terms.filters.all = q.Corpus, q.AllVersions
	defer s.end()
	if err := s.begin(ctx, files); err != nil {
		return Results{}, err
	}
	if err := s.skipDoubles(ctx); err != nil {
		return Results{}, err
	}
	if err := s.count(ctx); err != nil {
		return Results{}, err
	}
	mode, err := s.rank(ctx)
	if err != nil {
		return Results{}, err
	}
	return s.page(ctx, mode)
}

// begin takes a snapshot of every file. Its row of counters, which a search has
// to read in any case, is left open: SQLite keeps what a connection sees until
// its last statement ends, so there is no transaction to begin and end. Searches take the connections of
// several files at the same time, so they take them in one order, lest two of
// them wait for each other.
func (s *search) begin(ctx context.Context, files []*File) error {
	for _, f := range files {
		if !slices.ContainsFunc(s.parts, func(p *part) bool { return p.file.path == f.path }) {
			s.parts = append(s.parts, &part{file: f})
		}
	}
	ordered := slices.SortedFunc(slices.Values(s.parts), func(a, b *part) int { return cmp.Compare(a.file.path, b.file.path) })
	for _, p := range ordered {
		var err error
		if p.tx, err = p.file.reader.Conn(ctx); err != nil {
			return p.file.fail(err)
		}
	}
	return each(len(s.parts), func(i int) error {
		p := s.parts[i]
		var err error
		if p.state, p.held, err = holdState(p.tx); err != nil {
			return p.file.fail(err)
		}
		if p.inverted, err = p.file.invertedOf(ctx, p.tx, p.state.generation); err != nil {
			return p.file.fail(err)
		}
		if p.inverted.passages != p.state.chunks {
			if p.pending, err = countPending(ctx, p.tx); err != nil {
				return p.file.fail(err)
			}
		}
		if s.query.AllVersions {
			p.state.passages, p.state.words = p.inverted.passages, p.state.allWords
		}
		return nil
	})
}

func (s *search) end() {
	for _, p := range s.parts {
		if p.held != nil {
			p.held.Close()
		}
		if p.tx != nil {
			p.tx.Close()
		}
	}
}

// count sums up, for each round, what ranking has to know of all files.
func (s *search) count(ctx context.Context) error {
	s.all = &round{clauses: s.terms.clauses}
	s.any = s.all
	if s.terms.compound() {
		s.any = &round{clauses: s.terms.parts()}
	}
	err := each(len(s.parts), func(i int) error {
		p := s.parts[i]
		p.matches = make(map[*round][]*index.Matches)
		failing, some, err := p.failing(ctx, s.terms.filters, 1<<62)
		if err != nil {
			return p.file.fail(err)
		}
		p.passing = some
		p.out = index.Union(s.hidden(p), p.unseen, failing)
		for _, c := range s.terms.not {
			m, err := p.inverted.reader.Find(ctx, c)
			if err != nil {
				return p.file.fail(damagedIndex(err))
			}
			p.not = append(p.not, m)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.countRound(ctx, s.all)
}

// hidden returns the chunks of a part that are found by no search of this kind.
func (s *search) hidden(p *part) []index.Range {
	if s.query.AllVersions {
		return nil
	}
	return p.inverted.hidden
}

func (s *search) countRound(ctx context.Context, r *round) error {
	found := make([]index.Statistics, len(s.parts))
	matches := make([][]*index.Matches, len(s.parts))
	err := each(len(s.parts), func(i int) error {
		p, st := s.parts[i], &found[i]
		st.Passages, st.Words = p.state.passages, p.state.words
		for _, c := range r.clauses {
			m, err := p.inverted.reader.Find(ctx, c)
			if err != nil {
				return p.file.fail(damagedIndex(err))
			}
			n, err := m.Count(s.hidden(p), p.uncounted)
			if err != nil {
				return p.file.fail(damagedIndex(err))
			}
			if n.Passages > st.Passages {
				return p.file.fail(corrupt("its index says that %d passages of %d hold a word", n.Passages, st.Passages))
			}
			matches[i], st.Holding = append(matches[i], m), append(st.Holding, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var sum index.Statistics
	for i, st := range found {
		sum.Add(st)
		s.parts[i].matches[r] = matches[i]
	}
	r.zero = slices.ContainsFunc(sum.Holding, func(n index.Count) bool { return n.Passages == 0 })
	r.scorer = sum.Scorer()
	return nil
}

// rank finds the best rows of each file: of passages that have all clauses or,
// where none has, that have any of their words.
func (s *search) rank(ctx context.Context) (mode string, err error) {
	if !s.query.Any {
		total := int64(0)
		if !s.all.zero {
			if total, err = s.best(ctx, s.all, true); err != nil {
				return "", err
			}
		}
		if total > 0 || len(s.any.clauses) == 1 {
			s.last = s.all
			return ModeAnd, nil
		}
	}
	if s.any != s.all {
		if err := s.countRound(ctx, s.any); err != nil {
			return "", err
		}
	}
	_, err = s.best(ctx, s.any, false)
	return ModeOr, err
}

func (s *search) best(ctx context.Context, r *round, all bool) (total int64, err error) {
	floor := new(index.Floor)
	s.last = r
	err = each(len(s.parts), func(i int) error {
		p := s.parts[i]
		q := index.Search{Clauses: p.matches[r], All: all, Not: p.not, Hidden: p.out, Scorer: r.scorer, Keep: s.keep, Floor: floor}
		var err error
		p.total, p.rows, err = q.Run(ctx)
		return p.file.fail(damagedIndex(err))
	})
	for _, p := range s.parts {
		total += p.total
	}
	return total, err
}

// kth returns the k-th best score, where there are at least k.
func kth(rows []index.Row, k int) float64 {
	scores := make([]float64, len(rows))
	for i, r := range rows {
		scores[i] = r.Score
	}
	slices.Sort(scores)
	return scores[len(scores)-k]
}
