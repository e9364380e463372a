package shard

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"arborist/document"
	"arborist/shard/internal/rank"
)

// A Hit is a passage that was found. Its text was hashed against the root, and
// in a foreign file the words of the query were found in it again.
type Hit struct {
	Score    float64 // BM25, higher is better; comparable within one result alone
	Root     document.Root
	Index    uint64 // of the chunk
	File     *File  // that holds it
	Passage  Passage
	Location document.Location // a current one, in Query.Corpus where that is set
}

// Results is a page of hits.
type Results struct {
	Hits  []Hit  // best first; equal scores by root, then index
	Total int    // passages that match, over all pages
	Mode  string // "and": all phrases are in each hit; "or": no passage has all
	// Refused are foreign files that failed while they were searched. The hits
	// are those of the other files alone.
	Refused []*FileError
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
// A query that cannot be run fails with [ErrNoWords] or a [*QueryError]. A file
// of ours that fails, fails the search; a foreign one is left out, unless it
// was the only one.
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
		return Results{}, queryErrorf("limit %d and offset %d; both from 0, together at most %d", q.Limit, q.Offset, MaxHits)
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
			return Results{}, queryErrorf("took over %s; use fewer or rarer words", MaxSearchTime)
		}
		if outer.Err() != nil {
			return Results{}, outer.Err()
		}
		// Without the file that lies, everything has to be ranked anew: its
		// numbers are in all scores.
		rest := slices.Clone(files)
		for _, fe := range fileErrors(err) {
			rest = slices.DeleteFunc(rest, func(f *File) bool {
				if !f.foreign || f.path != fe.Path {
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
	terms terms
	parts []*part // in the caller's order
	stats rank.Statistics
	idf   []float64
	keep  int // hits to know: offset and limit
}

// A part is a file within a search.
type part struct {
	file      *File
	tx        *sql.Tx
	end       func() // of tx
	state     state
	uncounted []byte // documents that an earlier file shows
	unseen    []byte // those of them that it returns
	origin    int64  // of Query.Corpus in this file, 0 where there is none
	rows      []rank.Row
	total     int64
}

func searchFiles(ctx context.Context, files []*File, q Query) (Results, error) {
	if len(files) == 0 {
		return Results{}, errors.New("no files to search")
	}
	s := &search{query: q, keep: q.Offset + q.Limit}
	var err error
	if s.terms, err = parse(ctx, files[0], q.Text); err != nil {
		return Results{}, err
	}
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

// begin takes a snapshot of every file. Searches take the connections of
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
		if p.tx, p.end, err = p.file.snapshot(ctx); err != nil {
			return err
		}
	}
	return each(len(s.parts), func(i int) error {
		p := s.parts[i]
		var err error
		if p.state, err = readState(ctx, p.tx); err != nil {
			return p.file.fail(err)
		}
		if s.query.Corpus != "" {
			err = p.tx.QueryRowContext(ctx, "SELECT id FROM origins WHERE origin = ?", s.query.Corpus).Scan(&p.origin)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return p.file.fail(err)
			}
		}
		return nil
	})
}

func (s *search) end() {
	for _, p := range s.parts {
		if p.end != nil {
			p.end()
		}
	}
}

// count is the first round: it sums what ranking has to know of all files.
func (s *search) count(ctx context.Context) error {
	match := s.terms.match("OR") // even for AND: counted are the phrases alone
	found := make([]rank.Statistics, len(s.parts))
	err := each(len(s.parts), func(i int) error {
		p := s.parts[i]
		st := &found[i]
		st.Passages, st.Words = p.state.passages, p.state.words
		st.Rows = make([]int64, len(s.terms.words))
		var blob []byte
		err := p.tx.QueryRowContext(ctx, "SELECT arborist_df(fts, ?2) FROM fts WHERE fts MATCH ?1 LIMIT 1", match, p.uncounted).Scan(&blob)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			st.Rows, err = rank.Rows(blob, len(s.terms.words))
		}
		return p.file.fail(err)
	})
	for _, st := range found {
		s.stats.Add(st)
	}
	return err
}

// rank is the second round: the best rows of each file, by the sums.
func (s *search) rank(ctx context.Context) (mode string, err error) {
	s.idf = s.stats.IDF()
	if !slices.Contains(s.stats.Rows, 0) {
		total, err := s.best(ctx, s.terms.match("AND"))
		if err != nil || total > 0 || len(s.terms.words) == 1 {
			return ModeAnd, err
		}
	}
	if len(s.terms.words) == 1 {
		return ModeAnd, nil
	}
	_, err = s.best(ctx, s.terms.match("OR"))
	return ModeOr, err
}

// FTS5's functions cannot stand inside an aggregate, and SQLite would merge the
// inner query into the outer one but for its limit, which limits nothing.
const (
	bestSQL = "SELECT arborist_top(id, score, ?4) FROM (SELECT rowid AS id, arborist_score(fts, ?2, ?3) AS score FROM fts WHERE fts MATCH ?1"
	endSQL  = " LIMIT -1)"
	// The filter stands before the ranking: what it drops must not push hits out.
	filterSQL = ` AND EXISTS (SELECT 1 FROM locations WHERE origin = ?5 AND current = 1
		AND document = (SELECT id FROM documents WHERE id <= fts.rowid ORDER BY id DESC LIMIT 1))`
)

func (s *search) best(ctx context.Context, match string) (total int64, err error) {
	var floor threshold
	err = each(len(s.parts), func(i int) error {
		p := s.parts[i]
		query, args := bestSQL+endSQL, []any{match, s.stats.Params(s.keep, floor.get()), p.unseen, int64(s.keep)}
		if s.query.Corpus != "" {
			if p.origin == 0 {
				return nil
			}
			query, args = bestSQL+filterSQL+endSQL, append(args, p.origin)
		}
		var blob []byte
		if err := p.tx.QueryRowContext(ctx, query, args...).Scan(&blob); err != nil {
			return p.file.fail(err)
		}
		var err error
		if p.total, p.rows, err = rank.Top(blob); err != nil {
			return p.file.fail(err)
		}
		// The k-th best of one file is at most the k-th best of all.
		if len(p.rows) >= s.keep {
			floor.raise(kth(p.rows, s.keep))
		}
		return nil
	})
	for _, p := range s.parts {
		total += p.total
	}
	return total, err
}

// kth returns the k-th best score, where there are at least k.
func kth(rows []rank.Row, k int) float64 {
	scores := make([]float64, len(rows))
	for i, r := range rows {
		scores[i] = r.Score
	}
	slices.Sort(scores)
	return scores[len(scores)-k]
}
