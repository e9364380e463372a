package shard

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"arborist/document"
)

// Put stores documents at their locations, in one transaction, durable on
// return. Content that is here is not written again; a location that is here
// with the same content and description writes nothing at all, whatever its
// time of fetching; other content at the same URI of the same corpus supersedes
// what was current there, unless it is recorded and that was found later. The outcomes stand in the order of the entries.
//
// After an error nothing of the call can be relied on; putting the same entries
// again completes it. A location that cannot be stored fails the whole call,
// before anything is written, with an error that wraps [ErrLocation].
func (f *File) Put(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return f.put(ctx, entries, indexNow)
}

// Store is Put without the search index: what it stores is durable and can be
// read, and is found once [File.Index] was called. Many documents take much less
// time so.
func (f *File) Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return f.put(ctx, entries, indexLater)
}

func (f *File) put(ctx context.Context, entries []document.Entry, when indexing) ([]document.Outcome, error) {
	if f.total > 1 {
		return nil, f.fail(fmt.Errorf("put: %w: the file is shard %d of %d and takes documents through its set", ErrSet, f.number, f.total))
	}
	arrived := arrivals(entries)
	if err := checkEntries(arrived); err != nil {
		return nil, err
	}
	if f.foreign {
		return nil, f.fail(fmt.Errorf("put: %w", ErrReadOnly))
	}
	release, err := take(ctx, f.turn)
	if err != nil {
		return nil, fmt.Errorf("put: %w", err)
	}
	defer release()
	return put(ctx, []*File{f}, arrived, when)
}

// checkEntries refuses what cannot be stored.
func checkEntries(entries []Arrival) error {
	for _, e := range entries {
		if e.Document == nil {
			return fmt.Errorf("put %.80q: no document", e.Location.URI)
		}
		if err := checkLocation(e.Location); err != nil {
			return fmt.Errorf("put: %w", err)
		}
	}
	return nil
}

// put stores entries in a set of files. The caller has their turn: what decides
// which version of a place is current must not change under us.
func put(ctx context.Context, files []*File, entries []Arrival, when indexing) ([]document.Outcome, error) {
	// What is found to be there already must be durable as well.
	if err := each(len(files), func(i int) error { return files[i].makeSure(ctx) }); err != nil {
		return nil, fmt.Errorf("put: %w", err)
	}
	outcomes := make([]document.Outcome, 0, len(entries))
	for len(entries) > 0 {
		wave := distinct(entries)
		done, err := putWave(ctx, files, entries[:wave], when)
		if err != nil {
			return nil, fmt.Errorf("put: %w", err)
		}
		outcomes = append(outcomes, done...)
		entries = entries[wave:]
	}
	return outcomes, nil
}

// distinct returns how many entries stand before the first one whose place
// another of them has: that one has to see the effect of the other.
func distinct(entries []Arrival) int {
	seen := make(map[place]bool, len(entries))
	for i, e := range entries {
		p := placeOf(e.Location.Corpus, e.Location.URI)
		if seen[p] {
			return i
		}
		seen[p] = true
	}
	return len(entries)
}

// A newest is the newest version of a place within one file.
type newest struct {
	Version
	file int   // index in the set
	row  int64 // of locations
}

// A change is what one entry asks of the file that holds its document.
type change struct {
	entry   Arrival
	place   place
	seq     int64        // of the new version, 0 where there is none
	refresh int64        // row whose description changes, 0 where none
	older   bool         // what is current was found later: the entry changes nothing
	retire  []retirement // in the same file
	outcome *document.Outcome
}

// A retirement ends a version's time as current.
type retirement struct {
	row  int64
	root document.Root // whose version it is
	by   document.Root // zero: withdrawn
}

// putWave stores entries with different places. It first writes the new
// versions and then, in other files, retires the old ones: a crash between the
// two leaves a place with two current versions, of which the one with the lower
// number is retired by the next Put of that place, or by Check.
func putWave(ctx context.Context, files []*File, entries []Arrival, when indexing) ([]document.Outcome, error) {
	before, err := findNewest(ctx, files, entries)
	if err != nil {
		return nil, err
	}
	outcomes := make([]document.Outcome, len(entries))
	changes := make([][]change, len(files))
	retire := make([][]retirement, len(files))
	for i, e := range entries {
		home := route(e.Document.Root(), len(files))
		c := plan(e, home, before[i], retire)
		c.outcome = &outcomes[i]
		if latest := latestOf(before[i]); c.seq > 0 && latest != nil && latest.Current {
			c.outcome.Superseded = latest.Root
		}
		if c.seq == 0 && c.refresh == 0 {
			c.outcome.Unchanged, c.outcome.Older = !c.older, c.older
			if len(c.retire) == 0 {
				continue
			}
		}
		changes[home] = append(changes[home], c)
	}
	err = each(len(files), func(i int) error {
		if len(changes[i]) == 0 {
			return nil
		}
		return files[i].Write(ctx, func(tx *sql.Tx) error { return files[i].apply(ctx, tx, changes[i], nil, when) })
	})
	if err != nil {
		return nil, err
	}
	err = each(len(files), func(i int) error {
		if len(retire[i]) == 0 {
			return nil
		}
		return files[i].Write(ctx, func(tx *sql.Tx) error { return files[i].apply(ctx, tx, nil, retire[i], when) })
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// plan decides what an entry changes, given the newest version of its place in
// each file that has one. Retirements in other files than home go into retire.
func plan(e Arrival, home int, before []newest, retire [][]retirement) change {
	c := change{entry: e, place: placeOf(e.Location.Corpus, e.Location.URI)}
	latest := latestOf(before)
	root := e.Document.Root()
	switch {
	case latest == nil:
		c.seq = 1
	case latest.Current && latest.Root == root:
		// Where a record tells what is here from elsewhere, that stays as it is.
		if elsewhere := e.Recorded && e.Location.Source != latest.Location.Source; !elsewhere && !sameFound(latest.Location, e.Location) {
			c.refresh = latest.row
		}
	case latest.Current && e.Recorded && e.Location.FetchedAt.Before(latest.Location.FetchedAt):
		c.older, root = true, latest.Root
	default:
		c.seq = latest.Seq + 1
	}
	for i := range before {
		old := &before[i]
		if !old.Current || old == latest && c.seq == 0 {
			continue
		}
		r := retirement{row: old.row, root: old.Root, by: root}
		if old.file == home {
			c.retire = append(c.retire, r)
		} else {
			retire[old.file] = append(retire[old.file], r)
		}
	}
	return c
}

// latestOf returns the version with the highest number, nil where none is.
func latestOf(before []newest) *newest {
	var latest *newest
	for i := range before {
		if latest == nil || before[i].Seq > latest.Seq {
			latest = &before[i]
		}
	}
	return latest
}

const findNewestSQL = `SELECT ` + versionColumns + `, l.id, j.key
	FROM json_each(?1) j
	JOIN locations l ON l.id = (SELECT id FROM locations WHERE place = unhex(j.value) ORDER BY seq DESC LIMIT 1)
	JOIN documents d ON d.id = l.document JOIN origins o ON o.id = l.origin`

// findNewest looks for the places of entries in every file.
func findNewest(ctx context.Context, files []*File, entries []Arrival) ([][]newest, error) {
	keys := make([]string, len(entries))
	for i, e := range entries {
		p := placeOf(e.Location.Corpus, e.Location.URI)
		keys[i] = hex.EncodeToString(p[:])
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	perFile := make([][][]newest, len(files))
	err = each(len(files), func(i int) error {
		found := make([][]newest, len(entries))
		perFile[i] = found
		rows, err := files[i].reader.QueryContext(ctx, findNewestSQL, string(list))
		if err != nil {
			return files[i].fail(err)
		}
		defer rows.Close()
		for rows.Next() {
			n := newest{file: i}
			var key int
			if n.Version, err = scanVersion(rows.Scan, &n.row, &key); err != nil {
				return files[i].fail(err)
			}
			if l := entries[key].Location; n.Location.URI != l.URI || n.Location.Corpus != l.Corpus {
				return files[i].fail(corrupt("the place of %.80q holds %.80q", l.URI, n.Location.URI))
			}
			found[key] = append(found[key], n)
		}
		return files[i].fail(rows.Err())
	})
	if err != nil {
		return nil, err
	}
	all := make([][]newest, len(entries))
	for _, found := range perFile {
		for i := range found {
			all[i] = append(all[i], found[i]...)
		}
	}
	return all, nil
}
