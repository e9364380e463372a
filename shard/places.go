package shard

import (
	"context"
	"fmt"

	"arborist/document"
	"arborist/proof"
	"arborist/shard/corpus"
)

// One step of giving places back takes at most this many documents, or this many
// bytes and one document more.
const (
	placesDocuments = 1024
	placesBytes     = 32 << 20
)

// repairPlaces gives documents that are stored the places at which logs list them,
// where those are lost or nothing is current at them: what a damaged page of
// locations leaves, and an unsync of an older program that was cut. Content types
// and the like, which no log tells, do not come back.
func (s *Shared) repairPlaces(ctx context.Context, r Repair) error {
	infos, err := s.corpora.List(ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		roots, err := s.placeless(ctx, info)
		if err != nil {
			return err
		}
		if len(roots) == 0 {
			continue
		}
		back, current := len(roots), 0
		if !r.DryRun {
			if back, current, err = s.giveBack(ctx, roots); err != nil {
				return err
			}
		}
		if back == 0 {
			continue
		}
		r.Did(fmt.Sprintf("corpus %s: %d documents that it lists get their places back, %d of them are current", info.Origin, back, current))
	}
	return nil
}

// placeless returns the stored documents that a log lists at places where they are
// not, or that it lists now where nothing is current.
func (s *Shared) placeless(ctx context.Context, info corpus.Info) (roots []document.Root, err error) {
	type at struct {
		place place
		root  document.Root
	}
	there, current := make(map[at]bool), make(map[place]bool)
	for _, f := range s.files {
		versions, err := f.versionsIn(ctx, info.Origin, "")
		if isUnreadable(err) {
			return nil, nil // it is to be mended first
		}
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			p := placeOf(info.Origin, v.Location.URI)
			there[at{p, v.Root}] = true
			current[p] = current[p] || v.Current
		}
	}
	listed := make(map[place]document.Root)
	wanted := make(map[document.Root]bool)
	err = s.eachRecord(ctx, info, func(r proof.Record) {
		p := placeOf(info.Origin, r.URI)
		if r.Op == proof.OpWithdraw {
			delete(listed, p)
			return
		}
		listed[p] = r.Header.Root
		if !there[at{p, r.Header.Root}] {
			wanted[r.Header.Root] = true
		}
	})
	if err != nil {
		return nil, err
	}
	for p, root := range listed {
		if !current[p] {
			wanted[root] = true
		}
	}
	perFile := make(map[*File][]document.Root)
	for root := range wanted {
		f := s.home(root)
		perFile[f] = append(perFile[f], root)
	}
	for f, mine := range perFile {
		has, err := f.Has(ctx, mine)
		if err != nil {
			return nil, err
		}
		for i, root := range mine {
			if has[i] {
				roots = append(roots, root)
			}
		}
	}
	return roots, nil
}

// giveBack puts stored documents back at their places, step by step.
func (s *Shared) giveBack(ctx context.Context, roots []document.Root) (back, current int, err error) {
	release, err := take(ctx, s.publishing, s.turn)
	if err != nil {
		return 0, 0, err
	}
	defer release()
	var batch []*document.Document
	var size uint64
	for i, root := range roots {
		d, err := s.home(root).Document(ctx, root)
		if err == nil {
			batch, size = append(batch, d), size+d.Header().Bytes
		} else if !isUnreadable(err) {
			return back, current, err
		}
		if len(batch) < placesDocuments && size < placesBytes && i < len(roots)-1 {
			continue
		}
		returns, err := s.putBack(ctx, batch)
		if err != nil {
			return back, current, err
		}
		for _, r := range returns {
			back += min(r.Places, 1)
			current += min(r.Current, 1)
		}
		batch, size = nil, 0
	}
	return back, current, nil
}
