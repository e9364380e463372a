package shard

import (
	"context"
	"fmt"

	"arborist/document"
	"arborist/proof"
	"arborist/shard/corpus"
)

// checkLogs compares the logs of this node's own corpora with the shards: what
// is listed must be stored and current at its URI, and what is current must be
// listed. A followed corpus may be on its way and is left to its sync.
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
		if !info.Own {
			continue
		}
		if err := s.checkLog(ctx, info, quarantined, func(format string, args ...any) {
			report(fmt.Sprintf("corpus %s: ", info.Origin) + fmt.Sprintf(format, args...))
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shared) checkLog(ctx context.Context, info corpus.Info, quarantined func(document.Root) bool, report func(string, ...any)) error {
	listed, err := s.listed(ctx, info)
	if err != nil {
		return err
	}
	unlisted := make(map[place]bool)
	for _, f := range s.files {
		rows, err := f.reader.QueryContext(ctx, "SELECT "+versionColumns+" FROM "+versionTables+" WHERE l.current = 1 AND o.origin = ?", info.Origin)
		if err != nil {
			return f.fail(err)
		}
		current, err := scanVersions(rows)
		if err != nil {
			return f.fail(err)
		}
		for _, v := range current {
			p := placeOf(info.Origin, v.Location.URI)
			if listed[p] != v.Root {
				report("document %s at %s is stored and not listed; add it again, or withdraw it again if that was cut short", v.Root, v.Location.URI)
				unlisted[p] = true
			} else {
				delete(listed, p)
			}
		}
	}
	// What is left is listed and not current: say whether it is there at all.
	var roots []document.Root
	var places []place
	for p, root := range listed {
		roots, places = append(roots, root), append(places, p)
	}
	has, err := s.Has(ctx, roots)
	if err != nil {
		return err
	}
	for i, root := range roots {
		if has[i] && unlisted[places[i]] {
			continue // it gave way to the document that was reported above
		}
		if !has[i] && quarantined != nil && quarantined(root) {
			continue // its user says so
		}
		if has[i] {
			report("document %s is listed and not current at its URI", root)
		} else {
			report("document %s is listed and not stored", root)
		}
	}
	return nil
}

// listed replays a log: the root that is current at each place.
func (s *Shared) listed(ctx context.Context, info corpus.Info) (map[place]document.Root, error) {
	listed := make(map[place]document.Root)
	for at := uint64(0); at < info.Size; at += corpus.MaxRecords {
		records, err := s.corpora.Records(ctx, info.Origin, at, min(at+corpus.MaxRecords, info.Size))
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			p := placeOf(info.Origin, r.URI)
			if r.Op == proof.OpWithdraw {
				delete(listed, p)
			} else {
				listed[p] = r.Header.Root
			}
		}
	}
	return listed, nil
}
