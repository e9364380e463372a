package shard

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"arborist/document"
	"arborist/shard/internal/index"
	"arborist/shard/internal/words"
)

// A candidate is a row that may be on the page.
type candidate struct {
	part  *part
	doc   docRow
	index uint64
	score float64
}

// before is the order of hits.
func (c candidate) compare(o candidate) int {
	return cmp.Or(cmp.Compare(o.score, c.score),
		bytes.Compare(c.doc.header.Root[:], o.doc.header.Root[:]), cmp.Compare(c.index, o.index))
}

// page brings the best rows of all files into one order, cuts the page out and
// proves each passage on it.
func (s *search) page(ctx context.Context, mode string) (Results, error) {
	r := Results{Mode: mode, NonePass: true}
	for _, p := range s.parts {
		r.NonePass = r.NonePass && !p.passing
		r.Total += int(p.total)
		r.Pending += p.pending
	}
	all, err := s.candidates(ctx)
	if err != nil {
		return r, err
	}
	slices.SortFunc(all, candidate.compare)
	all = all[min(s.query.Offset, len(all)):min(s.keep, len(all))]
	r.Hits = make([]Hit, len(all))
	for i, c := range all {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if r.Hits[i], err = s.prove(ctx, c); err != nil {
			return r, c.part.file.fail(err)
		}
	}
	return r, nil
}

// candidates finds the documents of all rows that can be on the page: those
// above the k-th best score of all files, and as many of those that equal it
// as are needed. Which of them come first is decided by root, and no index of
// rows is in that order.
func (s *search) candidates(ctx context.Context) ([]candidate, error) {
	var rows []index.Row
	for _, p := range s.parts {
		rows = append(rows, p.rows...)
	}
	least := math.Inf(-1)
	if len(rows) > s.keep {
		least = kth(rows, s.keep)
	}
	above := 0
	for _, r := range rows {
		if r.Score > least {
			above++
		}
	}
	found := make([][]candidate, len(s.parts))
	err := each(len(s.parts), func(i int) error {
		p := s.parts[i]
		var better, equal []index.Row
		for _, r := range p.rows {
			switch {
			case r.Score > least:
				better = append(better, r)
			case r.Score == least:
				equal = append(equal, r)
			}
		}
		var err error
		if found[i], err = p.resolve(ctx, better); err != nil {
			return p.file.fail(err)
		}
		var ties []candidate
		if len(equal) <= s.keep-above+1000 {
			ties, err = p.resolve(ctx, equal)
		} else {
			ties, err = p.firstByRoot(ctx, equal, s.keep-above)
		}
		found[i] = append(found[i], ties...)
		return p.file.fail(err)
	})
	return slices.Concat(found...), err
}

const docOfSQL = "SELECT " + docColumns + " FROM documents WHERE id <= ? ORDER BY id DESC LIMIT 1"

// resolve finds the document of each row.
func (p *part) resolve(ctx context.Context, rows []index.Row) ([]candidate, error) {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b index.Row) int { return cmp.Compare(a.Passage, b.Passage) })
	all := make([]candidate, 0, len(rows))
	var doc docRow
	for i, r := range rows {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if doc.id == 0 || r.Passage >= doc.id+int64(doc.header.Chunks) {
			var err error
			doc, err = scanDoc(p.tx.QueryRowContext(background, docOfSQL, r.Passage))
			if errors.Is(err, ErrNotFound) {
				return nil, corrupt("its index has passage %d, which is in no document", r.Passage)
			}
			if err != nil {
				return nil, err
			}
			if r.Passage >= doc.id+int64(doc.header.Chunks) {
				return nil, corrupt("its index has passage %d, which is in no document", r.Passage)
			}
		}
		all = append(all, candidate{part: p, doc: doc, index: uint64(r.Passage - doc.id), score: r.Score})
	}
	return all, nil
}

// firstByRoot returns the first n of very many rows in the order of roots. The
// more rows there are, the sooner a walk along the roots meets n of them.
func (p *part) firstByRoot(ctx context.Context, rows []index.Row, n int) ([]candidate, error) {
	score := make(map[int64]float64, len(rows))
	for _, r := range rows {
		score[r.Passage] = r.Score
	}
	walk, err := p.tx.QueryContext(ctx, "SELECT id, chunks FROM documents ORDER BY root")
	if err != nil {
		return nil, err
	}
	defer walk.Close()
	var first []index.Row
	for walk.Next() && len(first) < n {
		var id, chunks int64
		if err := walk.Scan(&id, &chunks); err != nil {
			return nil, err
		}
		if chunks > document.MaxBytes {
			return nil, corrupt("document row %d has %d chunks", id, chunks)
		}
		for i := id; i < id+chunks && len(first) < n; i++ {
			if v, ok := score[i]; ok {
				first = append(first, index.Row{Passage: i, Score: v})
			}
		}
	}
	if err := errors.Join(walk.Err(), walk.Close()); err != nil {
		return nil, err
	}
	return p.resolve(ctx, first)
}

// prove reads the passage of a candidate and checks that it is what was found.
func (s *search) prove(ctx context.Context, c candidate) (Hit, error) {
	f, tx, root := c.part.file, c.part.tx, c.doc.header.Root
	if !c.doc.visible && !s.query.AllVersions {
		return Hit{}, corrupt("its index has document %s, which is hidden", root)
	}
	passage, err := f.passage(ctx, tx, c.doc, c.index)
	if err != nil {
		return Hit{}, err
	}
	if f.foreign {
		if err := s.recount(c, passage.Text); err != nil {
			return Hit{}, err
		}
	}
	v, err := s.location(ctx, c)
	if errors.Is(err, sql.ErrNoRows) {
		return Hit{}, corrupt("document %s is in the index and at no current location", root)
	}
	if err != nil {
		return Hit{}, err
	}
	return Hit{Score: c.score, Root: root, Index: c.index, File: f, Passage: passage, Location: v.Location, Current: v.Current}, nil
}

// location returns the first location of a hit that passes the filters, a
// current one where there is one.
func (s *search) location(ctx context.Context, c candidate) (first Version, err error) {
	// Not ordered by SQL: setting up a sorter costs more than looking at the few
	// locations that a document has.
	rows, err := c.part.tx.QueryContext(background, "SELECT "+versionColumns+" FROM "+versionTables+" WHERE l.document = ?", c.doc.id)
	if err != nil {
		return first, err
	}
	defer rows.Close()
	f := s.terms.filters
	err = sql.ErrNoRows
	for i := 0; rows.Next(); i++ {
		if i%64 == 0 && ctx.Err() != nil {
			return first, ctx.Err()
		}
		v, scanErr := scanVersion(rows.Scan)
		if scanErr != nil {
			return v, scanErr
		}
		at := v.Location.FetchedAt.Unix()
		if (v.Current || f.all) && (f.origin == "" || v.Location.Corpus == f.origin) && (f.after == 0 || at >= f.after) &&
			(f.before == 0 || at < f.before) && f.passes(v.Location.Corpus, v.Location.URI) && (err != nil || v.before(first)) {
			first, err = v, nil
		}
	}
	return first, cmp.Or(rows.Err(), err)
}

// before is the order in which locations of one document are shown: current
// ones first.
func (v Version) before(o Version) bool {
	if v.Current != o.Current {
		return v.Current
	}
	return cmp.Or(cmp.Compare(v.Location.Corpus, o.Location.Corpus), cmp.Compare(v.Location.URI, o.Location.URI), cmp.Compare(o.Seq, v.Seq)) < 0
}

// recount scores a proven text anew. An index that claims words which the text
// lacks, or another length, is found out here.
func (s *search) recount(c candidate, text []byte) error {
	var tokenizer words.Tokenizer
	var terms []string
	tokenizer.Each(text, func(term []byte, _, _ int) { terms = append(terms, string(term)) })
	counts := make([]int, len(s.last.clauses))
	for i, clause := range s.last.clauses {
		counts[i] = clause.Count(terms)
	}
	if got := s.last.scorer.Score(counts, len(terms)); got != c.score {
		return corrupt("chunk %d of document %s: its index claims words that the text does not have (%s)",
			c.index, c.doc.header.Root, fmt.Sprintf("score %v, the text has %v", c.score, got))
	}
	return nil
}
