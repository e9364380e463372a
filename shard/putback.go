package shard

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"arborist/document"
	"arborist/proof"
	"arborist/shard/corpus"
)

// A Return says what became of a document that was put back.
type Return struct {
	Root    document.Root
	Places  int // locations that it got back
	Current int // of those, the current ones
	Lost    int // places of its in a log for which there was no room between other versions
}

// PutBack stores documents that logs list and that were lost, each at every
// place at which a log lists it, as the version that it was there: an older
// version stays an older one. Durable on return; again it changes nothing.
// What a log does not tell (HTTP validators, content type) does not come back.
func (s *Shared) PutBack(ctx context.Context, docs []*document.Document) ([]Return, error) {
	release, err := take(ctx, s.publishing, s.turn)
	if err != nil {
		return nil, fmt.Errorf("put back: %w", err)
	}
	defer release()
	s.gate.enter()
	defer s.gate.leave()
	return s.putBack(ctx, docs)
}

// putBack is PutBack for somebody inside the gate who may publish and write.
func (s *Shared) putBack(ctx context.Context, docs []*document.Document) ([]Return, error) {
	if err := s.unbroken(); err != nil {
		return nil, fmt.Errorf("put back: %w", err)
	}
	infos, err := s.corpora.List(ctx)
	if err != nil {
		return nil, err
	}
	b := &putBack{set: s, docs: make(map[document.Root]*document.Document), perFile: make([]fileReturn, len(s.files))}
	returns := make([]Return, len(docs))
	b.returns = make(map[document.Root]*Return)
	for i, d := range docs {
		returns[i].Root = d.Root()
		b.docs[d.Root()], b.returns[d.Root()] = d, &returns[i]
	}
	for _, info := range infos {
		if err := b.log(ctx, info); err != nil {
			return nil, fmt.Errorf("put back: %w", err)
		}
	}
	for _, d := range docs {
		f := &b.perFile[route(d.Root(), len(s.files))]
		f.docs = append(f.docs, d)
	}
	// New versions first, then the old ones that they retire, as in a Put.
	for _, write := range []func(i int, tx *sql.Tx) error{b.store, b.retire} {
		err := each(len(s.files), func(i int) error {
			if f := b.perFile[i]; len(f.docs)+len(f.retire) == 0 {
				return nil
			}
			return s.files[i].Write(ctx, func(tx *sql.Tx) error { return write(i, tx) })
		})
		if err != nil {
			return nil, fmt.Errorf("put back: %w", err)
		}
	}
	return returns, nil
}

type putBack struct {
	set     *Shared
	docs    map[document.Root]*document.Document
	returns map[document.Root]*Return
	perFile []fileReturn
}

// A fileReturn is what one file gets back.
type fileReturn struct {
	docs   []*document.Document
	places []placed
	revive []int64 // rows that are current again
	retire []retirement
}

// A placed is a version that gets its place back.
type placed struct {
	root    document.Root
	at      document.Location
	place   place
	seq     int64
	current bool
	by      document.Root // zero: none
}

// log finds the places that one log gives the documents.
func (b *putBack) log(ctx context.Context, info corpus.Info) error {
	concerned := make(map[place]bool)
	err := b.set.eachRecord(ctx, info, func(r proof.Record) {
		if r.Op != proof.OpWithdraw && b.docs[r.Header.Root] != nil {
			concerned[placeOf(info.Origin, r.URI)] = true
		}
	})
	if err != nil || len(concerned) == 0 {
		return err
	}
	told := make(map[place][]proof.Record)
	err = b.set.eachRecord(ctx, info, func(r proof.Record) {
		p := placeOf(info.Origin, r.URI)
		if !concerned[p] {
			return
		}
		of := told[p]
		// The same again describes the version anew.
		if n := len(of); n > 0 && of[n-1].Op != proof.OpWithdraw && r.Op != proof.OpWithdraw && of[n-1].Header.Root == r.Header.Root {
			of[n-1] = r
			return
		}
		told[p] = append(of, r)
	})
	if err != nil {
		return err
	}
	for p, records := range told {
		there, err := b.versionsAt(ctx, p)
		if err != nil {
			return err
		}
		b.align(info.Origin, p, records, there)
	}
	return nil
}

func (s *Shared) eachRecord(ctx context.Context, info corpus.Info, fn func(proof.Record)) error {
	for at := uint64(0); at < info.Size; at += corpus.MaxRecords {
		records, err := s.corpora.Records(ctx, info.Origin, at, min(at+corpus.MaxRecords, info.Size))
		if err != nil {
			return err
		}
		for _, r := range records {
			fn(r)
		}
	}
	return nil
}

// A version is a row that stands at a place.
type version struct {
	file    int
	row     int64
	root    document.Root
	seq     int64
	current bool
}

// versionsAt returns what stands at a place, in the order of the versions.
func (b *putBack) versionsAt(ctx context.Context, p place) (all []version, err error) {
	for i, f := range b.set.files {
		rows, err := f.reader.QueryContext(ctx, "SELECT l.id, d.root, l.seq, l.current FROM locations l JOIN documents d ON d.id = l.document WHERE l.place = ? ORDER BY l.seq", p[:])
		if err != nil {
			return nil, f.fail(err)
		}
		for rows.Next() {
			v := version{file: i}
			var root []byte
			if err := rows.Scan(&v.row, &root, &v.seq, &v.current); err != nil {
				rows.Close()
				return nil, f.fail(err)
			}
			if copy(v.root[:], root) != len(v.root) {
				rows.Close()
				return nil, f.fail(corrupt("a root of %d bytes", len(root)))
			}
			all = append(all, v)
		}
		if err := rows.Err(); err != nil {
			return nil, f.fail(err)
		}
	}
	slices.SortFunc(all, func(a, b version) int { return cmp.Compare(a.seq, b.seq) })
	return all, nil
}

// align finds, for one place, the versions that a log tells of and that are not
// there, and gives them numbers between those that are.
func (b *putBack) align(origin string, p place, records []proof.Record, there []version) {
	type told struct {
		record  proof.Record
		found   *version      // nil: it is not there
		by      document.Root // what came after it, zero: a withdrawal, or nothing
		current bool
	}
	var all []told
	for i, r := range records {
		if r.Op == proof.OpWithdraw {
			continue
		}
		t := told{record: r, current: i == len(records)-1}
		if !t.current && records[i+1].Op != proof.OpWithdraw {
			t.by = records[i+1].Header.Root
		}
		all = append(all, t)
	}
	next := 0 // of what is there
	for i := range all {
		if next < len(there) && there[next].root == all[i].record.Header.Root {
			all[i].found = &there[next]
			next++
		}
	}
	if n := len(all) - 1; n >= 0 && next == len(there) {
		// What was hidden, and is listed, without a newer one.
		if t := all[n]; t.current && t.found != nil && !t.found.current && b.docs[t.found.root] != nil {
			f := &b.perFile[t.found.file]
			f.revive = append(f.revive, t.found.row)
			b.returns[t.found.root].Places++
			b.returns[t.found.root].Current++
		}
	}
	for i := 0; i < len(all); i++ {
		if all[i].found != nil {
			continue
		}
		end := i
		for end < len(all) && all[end].found == nil {
			end++
		}
		below, above := int64(0), int64(0) // above 0: nothing is
		if i > 0 {
			below = all[i-1].found.seq
		}
		switch {
		case end < len(all):
			above = all[end].found.seq
		case next < len(there): // newer than the log, or in no order that it knows
			above = there[next].seq
		}
		for j, t := range all[i:end] {
			root := t.record.Header.Root
			if b.docs[root] == nil {
				continue // it did not come, and keeps its number
			}
			seq := below + 1 + int64(j)
			if above != 0 && (seq >= above || seq <= below) {
				b.returns[root].Lost++
				continue
			}
			r := t.record
			v := placed{root: root, place: p, seq: seq, by: t.by, current: t.current && above == 0,
				at: document.Location{Corpus: origin, URI: r.URI, Title: r.Title, Source: r.Source, FetchedAt: r.FetchedAt}}
			b.returns[root].Places++
			if v.current {
				b.returns[root].Current++
				for _, old := range there {
					if old.current {
						f := &b.perFile[old.file]
						f.retire = append(f.retire, retirement{row: old.row, root: old.root, by: root})
					}
				}
			}
			f := &b.perFile[route(root, len(b.set.files))]
			f.places = append(f.places, v)
		}
		i = end - 1
	}
}

// store writes what one file gets back.
func (b *putBack) store(i int, tx *sql.Tx) error {
	f := b.set.files[i]
	a, err := newApplier(f, tx)
	if err != nil {
		return err
	}
	ids := make(map[document.Root]int64)
	for _, d := range b.perFile[i].docs {
		if ids[d.Root()], _, err = a.store(d, nil); err != nil {
			return err
		}
	}
	for _, v := range b.perFile[i].places {
		origin, err := a.origin(v.at.Corpus)
		if err != nil {
			return err
		}
		var by any
		if !v.current && v.by != (document.Root{}) {
			by = v.by[:]
		}
		err = a.exec(`INSERT INTO locations (document, origin, place, seq, current, superseded_by, uri, title, source, fetched_at,
			content_type, extractor, status, etag, modified) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', 0, '', '') ON CONFLICT DO NOTHING`,
			ids[v.root], origin, v.place[:], v.seq, v.current, by, v.at.URI, v.at.Title, v.at.Source, v.at.FetchedAt.Unix())
		if err != nil {
			return err
		}
	}
	for _, row := range b.perFile[i].revive {
		if err := a.exec("UPDATE locations SET current = 1, superseded_by = NULL WHERE id = ?", row); err != nil {
			return err
		}
	}
	for root := range ids {
		// Each of them changes nothing where it does not apply.
		for _, visible := range []bool{true, false} {
			if err := a.setVisible(root, visible, b.docs[root]); err != nil {
				return err
			}
		}
	}
	return a.finish()
}

func (b *putBack) retire(i int, tx *sql.Tx) error {
	if len(b.perFile[i].retire) == 0 {
		return nil
	}
	return b.set.files[i].apply(background, tx, nil, b.perFile[i].retire, indexNow)
}
