package shard

import (
	"context"
	"path/filepath"
	"time"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
	"arborist/shard/corpus"
)

// maxBefore is how many earlier documents of a place are tried as the one that a
// record supersedes.
const maxBefore = 64

// relister makes records of logs anew from the places of documents in the shards of
// a folder, which nobody has open and which may be damaged. It knows those that list
// a document whose title, source and time at that place are still those that were
// listed, and no withdrawals.
func relister(dir string) corpus.Relister {
	return func(ctx context.Context, origin string, wanted map[merkle.Hash]bool) (map[merkle.Hash][]byte, error) {
		numbers, err := shardNumbers(dir)
		if err != nil {
			return nil, err
		}
		r := &relisting{origin: origin, wanted: wanted, before: make(map[place][]document.ID), lines: make(map[merkle.Hash][]byte)}
		for _, see := range []func(place, document.Header, document.Location, bool){r.remember, r.list} {
			for number := range numbers {
				if err := r.each(ctx, filepath.Join(dir, fileName(number)), see); err != nil && !isBroken(err) && !isUnreadable(damage(err)) {
					return nil, err
				}
			}
		}
		return r.lines, nil
	}
}

type relisting struct {
	origin string
	wanted map[merkle.Hash]bool
	before map[place][]document.ID // documents that are not current any more
	lines  map[merkle.Hash][]byte
}

// each calls see with the places of one file, up to what cannot be read.
func (r *relisting) each(ctx context.Context, path string, see func(place, document.Header, document.Location, bool)) error {
	kind, _, err := inspectFile(path)
	if err != nil || kind != KindShared {
		return err
	}
	db, err := connect(path, reading)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT d.root, d.chunks, d.bytes, d.norm, d.chunker, l.uri, l.title, l.source, l.fetched_at, l.current
		FROM `+versionTables+` WHERE o.origin = ?`, r.origin)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var h document.Header
		var l document.Location
		var root []byte
		var fetched int64
		var current bool
		err := rows.Scan(&root, &h.Chunks, &h.Bytes, &h.Norm, &h.Chunker, &l.URI, &l.Title, &l.Source, &fetched, &current)
		if err != nil || len(root) != len(h.Root) {
			continue // of no use
		}
		h.Root, l.FetchedAt = document.Root(root), time.Unix(fetched, 0)
		see(placeOf(r.origin, l.URI), h, l, current)
	}
	return rows.Err()
}

func (r *relisting) remember(p place, h document.Header, _ document.Location, current bool) {
	if !current && len(r.before[p]) < maxBefore {
		r.before[p] = append(r.before[p], h.ID())
	}
}

// list keeps the records that can have listed a document at its place and are wanted.
func (r *relisting) list(p place, h document.Header, l document.Location, _ bool) {
	for _, before := range append(r.before[p], document.ID{}) {
		line, err := proof.NewRecord(h, l, before).Line()
		if err != nil {
			continue
		}
		if leaf := merkle.LeafHash(line); r.wanted[leaf] {
			r.lines[leaf] = line
		}
	}
}
