package shard

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"arborist/document"
	"arborist/proof"
	"arborist/shard/corpus"
)

// maxMissing is how many documents of one corpus are reported one by one, of those
// that are listed and missing, and of those that are stored and not listed.
const maxMissing = 100

// checkLogs compares the logs with the shards: what they list must be stored.
// Of this node's own corpora what is listed must also be current at its URI,
// and what is current must be listed; a followed one may be on its way to its
// next head, and what is current is left to its sync.
func (s *Shared) checkLogs(ctx context.Context, quarantined func(document.Root) bool, report func(string)) error {
	// No Publisher may be between the shards and the log meanwhile.
	select {
	case <-s.publishing:
	case <-ctx.Done():
		return fmt.Errorf("check: %w", ctx.Err())
	}
	defer func() { s.publishing <- struct{}{} }()
	infos, err := s.corpora.List(ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		c := &logCheck{set: s, info: info, listed: make(map[place]document.Root), quarantined: quarantined,
			report: func(format string, args ...any) {
				report(fmt.Sprintf("corpus %s: ", info.Origin) + fmt.Sprintf(format, args...))
			}}
		if err := c.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A logCheck compares one log with the shards.
type logCheck struct {
	set         *Shared
	info        corpus.Info
	listed      map[place]document.Root // current at each place, by the log
	quarantined func(document.Root) bool
	report      func(format string, args ...any)
}

func (c *logCheck) run(ctx context.Context) error {
	missing, unread, err := c.set.missing(ctx, c.info, func(r proof.Record) {
		p := placeOf(c.info.Origin, r.URI)
		if r.Op == proof.OpWithdraw {
			delete(c.listed, p)
		} else {
			c.listed[p] = r.Header.Root
		}
	})
	if err != nil {
		return err
	}
	for _, f := range c.set.files {
		if n := unread[f]; n > 0 {
			c.report("it lists %d documents that are in %s, which cannot be used", n, f.path)
		}
	}
	// What its user was told of already is no news.
	missing = slices.DeleteFunc(missing, func(m Missing) bool {
		return c.quarantined != nil && c.quarantined(m.Header.Root)
	})
	for i, m := range missing {
		if i == maxMissing {
			c.report("%d more documents are listed and not stored", len(missing)-i)
			break
		}
		c.report("document %s is listed and not stored, at %.200s; bring it back with: arborist check --heal, or add it again", m.Header.Root, m.URI)
	}
	if !c.info.Own {
		return c.hidden(ctx)
	}
	return c.current(ctx)
}

// current compares what is current in the shards and in the log.
func (c *logCheck) current(ctx context.Context) error {
	unlisted := make(map[place]bool)
	// Of a log that lacks records these say nothing but that.
	most := maxMissing
	if c.info.Seen > c.info.Size {
		most = 0
	}
	for _, f := range c.set.files {
		if f.broken != nil {
			continue
		}
		current, err := f.currentIn(ctx, c.info.Origin)
		if isUnreadable(err) {
			continue // the check of the file has said it
		}
		if err != nil {
			return err
		}
		for _, v := range current {
			p := placeOf(c.info.Origin, v.Location.URI)
			if c.listed[p] != v.Root {
				if unlisted[p] = true; len(unlisted) <= most {
					c.report("document %s at %s is stored and not listed; add it again, or withdraw it again if that was cut short: arborist add PATH, arborist withdraw URI", v.Root, v.Location.URI)
				}
			} else {
				delete(c.listed, p)
			}
		}
	}
	if more := len(unlisted) - most; more > 0 && most > 0 {
		c.report("%d more documents are stored and not listed", more)
	} else if more > 0 {
		c.report("%d documents are stored and not listed: it lacks %d records that its key has signed; bring them back: arborist peer sync FROM %s", more, c.info.Seen-c.info.Size, c.info.Origin)
	}
	// What is left is listed and not current. Where it is not stored, that has
	// been said; and it may have given way to the document reported above.
	var roots []document.Root
	for p, root := range c.listed {
		if !unlisted[p] {
			roots = append(roots, root)
		}
	}
	return c.stored(ctx, roots, func(root document.Root) {
		c.report("document %s is listed and not current at its URI; bring its place back with: arborist check --repair", root)
	})
}

// hidden looks for what a followed corpus lists and nobody finds: nothing is current
// at its URI. What is current there may be ahead of the log.
func (c *logCheck) hidden(ctx context.Context) error {
	for _, f := range c.set.files {
		current, err := f.currentIn(ctx, c.info.Origin)
		if isUnreadable(err) {
			return nil // the check of the file has said it
		}
		if err != nil {
			return err
		}
		for _, v := range current {
			delete(c.listed, placeOf(c.info.Origin, v.Location.URI))
		}
	}
	hidden := 0
	err := c.stored(ctx, slices.Collect(maps.Values(c.listed)), func(document.Root) { hidden++ })
	if hidden > 0 {
		c.report("%d documents are listed, stored and not found, as where their places were lost; bring them back with: arborist check --repair", hidden)
	}
	return err
}

// stored calls fn for each of these documents that is stored in a file that can be read.
func (c *logCheck) stored(ctx context.Context, roots []document.Root, fn func(document.Root)) error {
	for _, f := range c.set.files {
		mine := slices.DeleteFunc(slices.Clone(roots), func(r document.Root) bool { return !f.holds(r) })
		has, err := f.Has(ctx, mine)
		if isUnreadable(err) {
			continue
		}
		if err != nil {
			return err
		}
		for i, root := range mine {
			if has[i] {
				fn(root)
			}
		}
	}
	return nil
}

// currentIn returns the current versions of one corpus.
func (f *File) currentIn(ctx context.Context, origin string) ([]Version, error) {
	return f.versionsIn(ctx, origin, " AND l.current = 1")
}

// versionsIn returns the versions of one corpus, where a condition holds.
func (f *File) versionsIn(ctx context.Context, origin, and string) ([]Version, error) {
	rows, err := f.reader.QueryContext(ctx, "SELECT "+versionColumns+" FROM "+versionTables+" WHERE o.origin = ?"+and, origin)
	if err != nil {
		return nil, f.fail(err)
	}
	current, err := scanVersions(rows)
	return current, f.fail(err)
}

// A Missing is a document that a log lists and that is not stored.
type Missing struct {
	Origin string // of the corpus
	Header document.Header
	URI    string // where it was listed first
	Index  uint64 // of that record in the log
}

// Missing returns the documents that the log of a corpus lists, in whatever
// version, and that are not stored, in the order of the log. It knows nothing of
// those in files that cannot be used.
func (s *Shared) Missing(ctx context.Context, info corpus.Info) ([]Missing, error) {
	s.gate.enter()
	defer s.gate.leave()
	missing, _, err := s.missing(ctx, info, nil)
	return missing, err
}

// missing also counts what is in files that cannot be read, and hands each
// record on.
func (s *Shared) missing(ctx context.Context, info corpus.Info, each func(proof.Record)) (missing []Missing, unread map[*File]int, err error) {
	unread = make(map[*File]int)
	seen := make(map[document.Root]bool) // of those that are missing
	for at := uint64(0); at < info.Size; at += corpus.MaxRecords {
		records, err := s.corpora.Records(ctx, info.Origin, at, min(at+corpus.MaxRecords, info.Size))
		if err != nil {
			return nil, nil, err
		}
		perFile := make(map[*File][]proof.Record)
		for _, r := range records {
			if each != nil {
				each(r)
			}
			if r.Op != proof.OpWithdraw {
				f := s.home(r.Header.Root)
				perFile[f] = append(perFile[f], r)
			}
		}
		stored := make(map[document.Root]bool)
		for f, of := range perFile {
			roots := make([]document.Root, len(of))
			for i, r := range of {
				roots[i] = r.Header.Root
			}
			has, err := f.Has(ctx, roots)
			if isUnreadable(err) {
				unread[f] += len(of)
				for _, root := range roots {
					stored[root] = true // or so it must be taken
				}
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			for i, ok := range has {
				stored[roots[i]] = ok
			}
		}
		for i, r := range records {
			if root := r.Header.Root; r.Op != proof.OpWithdraw && !stored[root] && !seen[root] {
				seen[root] = true
				missing = append(missing, Missing{Origin: info.Origin, Header: r.Header, URI: r.URI, Index: at + uint64(i)})
			}
		}
	}
	return missing, unread, nil
}
