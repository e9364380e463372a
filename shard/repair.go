package shard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"arborist/document"
	"arborist/shard/corpus"
)

// CheckOptions say how to check. The zero value is [Shared.Check].
type CheckOptions struct {
	// Subset is which documents are hashed. Where it is not all of them, the
	// index is compared with counters and lengths alone.
	Subset Subset
	// Quarantined reports whether a repair has taken a document out: a log that
	// lists it is then no problem. Nil: none.
	Quarantined func(document.Root) bool
	// Repair, if not nil, mends files with problems.
	Repair *Repair
	// Heal, if not nil, is called once all files of a set were checked, and mended,
	// before they are compared with the logs: the time to put back what is missing.
	Heal func(context.Context) error
}

// A Repair says how files are mended.
type Repair struct {
	// Keep puts a document that is taken out of a file where it can be found
	// again, durable on return. It is called before the document is taken out,
	// for each one, and again where the repair was cut short.
	Keep func(Lost) error
	// Did is told, line by line, what was done.
	Did func(string)
	// Own is what is kept outside the folder of the logs of this node; it may be nil.
	Own []corpus.Kept
	// Carry, if not nil, brings what the owner of a private file keeps beside the
	// documents out of a file that may be damaged into the one that will take its
	// place, which nobody has open.
	Carry func(ctx context.Context, old *sql.DB, fresh string) error
	// Usable, if not nil, says why the owner of a private file cannot use one that
	// is whole as this package sees it: then a new one takes its place as well.
	// Nobody else has the file open while it is called.
	Usable func(path string) error
	// DryRun finds out what would be done, and does nothing.
	DryRun bool
}

var errDryRun = errors.New("dry run")

// CheckWith is [File.Check] with options. Problems are reported as they are
// after the repair, where there is one.
func (f *File) CheckWith(ctx context.Context, opts CheckOptions, report func(problem string)) (documents int, err error) {
	var found []string
	documents, err = f.checkSome(ctx, opts.Subset, func(p string) { found = append(found, p) })
	if err == nil && len(found) == 0 && opts.Subset.All() {
		f.met.Store(nil)
	}
	if err == nil && len(found) > 0 && opts.Repair != nil && !f.foreign {
		release, terr := take(ctx, f.turn)
		if terr != nil {
			return documents, fmt.Errorf("repair: %w", terr)
		}
		err = f.repair(ctx, *opts.Repair)
		release()
		if err == nil && !opts.Repair.DryRun {
			found = nil
			if _, err = f.checkSome(ctx, opts.Subset, func(p string) { found = append(found, p) }); len(found) == 0 {
				f.met.Store(nil)
			}
		}
	}
	for _, p := range found {
		report(p)
	}
	return documents, err
}

// CheckWith is [Shared.Check] with options.
func (s *Shared) CheckWith(ctx context.Context, opts CheckOptions, report func(problem string)) (documents int, err error) {
	release, err := take(ctx, s.upkeep)
	if err != nil {
		return 0, fmt.Errorf("check: %w", err)
	}
	defer release()
	s.gate.enter()
	defer s.gate.leave()
	damaged := false
	for _, f := range s.files {
		n, err := f.CheckWith(ctx, opts, func(problem string) {
			damaged = true
			report(problem)
		})
		documents += n
		if err != nil {
			return documents, err
		}
	}
	// What a damaged file says of its versions is not believed, and nothing is written to it.
	if !damaged && (opts.Repair == nil || !opts.Repair.DryRun) {
		if err := s.heal(ctx, report); err != nil {
			return documents, err
		}
	}
	_, err = s.corpora.Check(ctx, report)
	if err == nil && opts.Repair != nil {
		err = s.repairPlaces(ctx, *opts.Repair)
	}
	if err == nil && opts.Heal != nil {
		err = opts.Heal(ctx)
	}
	if err == nil {
		err = s.checkLogs(ctx, opts.Quarantined, report)
	}
	switch {
	case errors.Is(err, ErrLogs):
		report(fmt.Sprintf("%v; %s", s.corpora.Broken(), MendBroken))
		return documents, nil
	case errors.Is(err, corpus.ErrCorrupt):
		report(fmt.Sprintf("%v; %s", err, MendBroken))
		return documents, nil
	case isCorrupt(err):
		report(err.Error())
		return documents, nil
	}
	return documents, err
}

// repair writes all of the file's tables anew, from the texts that hash to their
// roots, in one transaction: a crash leaves the file as it was. Where SQLite
// itself finds damage, nothing is written: see [Salvage].
func (f *File) repair(ctx context.Context, r Repair) error {
	if f.broken != nil {
		if !r.DryRun {
			r.Did(f.path + ": it is mended only while no daemon runs: stop it, then run the same again")
		}
		return nil
	}
	if whole, err := f.Whole(ctx); isUnreadable(err) || err == nil && !whole {
		r.Did(f.path + ": pages of it are damaged; it is mended only while no daemon runs: stop it, then run the same again")
		return nil
	} else if err != nil {
		return err
	}
	say := func(format string, args ...any) { r.Did(f.path + ": " + fmt.Sprintf(format, args...)) }
	var kept *saved
	err := f.Write(ctx, func(tx *sql.Tx) error {
		from, end, err := f.snapshot(ctx) // the state that this transaction begins with
		if err != nil {
			return err
		}
		defer end()
		if _, err := tx.ExecContext(background, emptySQL); err != nil {
			return err
		}
		if kept, err = f.rescueInto(ctx, from, f, tx, nil); err != nil {
			return err
		}
		if err := dropDangling(tx, kept); err != nil {
			return err
		}
		if r.DryRun {
			return errDryRun
		}
		return keepAll(kept.lost, r.Keep)
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return fmt.Errorf("repair: %w", err)
	}
	f.overlaps.forget()
	sayRepaired(say, kept)
	return nil
}

// dropDangling takes rows out that name others that are not there: of the tables of a
// private file's owner, since those of documents were made anew. What names such a
// row goes too.
func dropDangling(tx *sql.Tx, kept *saved) error {
	type dangling struct {
		table string
		row   int64
	}
	// Until the commit: what names a row that goes is taken out after it.
	if _, err := tx.ExecContext(background, "PRAGMA defer_foreign_keys = ON"); err != nil {
		return err
	}
	dropped := make(map[string]int)
	for {
		rows, err := tx.QueryContext(background, `SELECT DISTINCT "table", rowid FROM pragma_foreign_key_check WHERE rowid IS NOT NULL`)
		if err != nil {
			return err
		}
		var all []dangling
		for rows.Next() {
			var d dangling
			if err := rows.Scan(&d.table, &d.row); err != nil {
				return errors.Join(err, rows.Close())
			}
			all = append(all, d)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		if len(all) == 0 {
			break
		}
		for _, d := range all {
			// The name is of a schema that was compared with ours.
			if _, err := tx.ExecContext(background, `DELETE FROM "`+d.table+`" WHERE rowid = ?`, d.row); err != nil {
				return err
			}
			dropped[d.table]++
		}
	}
	for _, table := range slices.Sorted(maps.Keys(dropped)) {
		kept.said = append(kept.said, fmt.Sprintf("%d rows of %s name others that are not there, and are left out", dropped[table], table))
	}
	return nil
}

func keepAll(lost []*Lost, keep func(Lost) error) error {
	for _, l := range lost {
		if err := keep(*l); err != nil {
			return fmt.Errorf("put document %s into quarantine: %w", l.Root, err)
		}
	}
	return nil
}

func sayRepaired(say func(string, ...any), s *saved) {
	sayNotKept(say, s)
	say("index, leaf hashes and counters are made anew from the texts of %d documents", s.documents)
}

func sayNotKept(say func(string, ...any), s *saved) {
	for _, line := range s.said {
		say("%s", line)
	}
	for _, l := range s.lost {
		say("document %s goes into quarantine: %s", l.Root, l.Reason)
	}
}

// forget drops what is known of other files, after the numbers of documents changed.
func (c *overlapCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.with)
}

// Whole reports whether every page of the file can be read as what it is. Texts are
// not hashed.
func (f *File) Whole(ctx context.Context) (whole bool, err error) {
	_, damaged, err := f.inspectRows(ctx, Subset{part: true}, func(string) {})
	if isCorrupt(err) {
		return false, nil
	}
	return !damaged, err
}

// Salvage makes a new file of what can be read of a file of ours in which SQLite
// finds damage, and gives it the old one's name; the damaged file is kept in
// the folder aside. A file without damage is left alone. Nobody may have it open.
// A crash leaves the old file or the new one. Number and total are its place in
// its set.
//
// Tables of a private file's owner are copied by r.Carry alone.
func Salvage(ctx context.Context, path string, kind Kind, number, total int, aside string, r Repair) (err error) {
	defer func() {
		if err != nil {
			err = named(path, fmt.Errorf("salvage: %w", err))
		}
	}()
	found, version, err := inspect(path)
	if err != nil {
		return err
	}
	if err := expect(found, version, kind); err != nil || version < SchemaVersion {
		return err // an older file is mended when it is brought to this version
	}
	// What is in the log belongs to the file; moving it there reads no table.
	old := newFile(path, kind)
	defer old.Close()
	if old.writer, err = connect(path, writing); err != nil {
		return err
	}
	if old.reader, err = connect(path, reading); err != nil {
		return err
	}
	old.doubt.Store(true)
	if err := old.makeSure(ctx); err != nil {
		return err
	}
	if whole, err := old.Whole(ctx); err != nil || whole {
		return err
	}
	say := func(format string, args ...any) { r.Did(path + ": " + fmt.Sprintf(format, args...)) }
	fresh := path + ".salvaged"
	if err := removeFile(fresh); err != nil {
		return err
	}
	defer removeFile(fresh) // only there where something failed, or in a dry run
	kept, err := salvageInto(ctx, old, fresh, number, total)
	if err == nil && kept.unread {
		kept, err = salvagePages(ctx, path, fresh, kind, number, total, kept)
	}
	if err != nil {
		return err
	}
	if r.DryRun {
		say("its damaged pages would be left behind; %d documents would be kept", kept.documents)
		sayRepaired(say, kept)
		return nil
	}
	if r.Carry != nil {
		if err := r.Carry(ctx, old.reader, fresh); err != nil {
			return err
		}
	}
	if err := errors.Join(keepAll(kept.lost, r.Keep), old.Close()); err != nil {
		return err
	}
	old.reader, old.writer = nil, nil
	name := asideName(aside, path)
	if err := copyAside(path, name); err != nil {
		return err
	}
	say("the damaged file is kept as %s", name)
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	sayRepaired(say, kept)
	return SyncFolder(filepath.Dir(path))
}

// salvageInto makes the new file. It stands alone when it is closed.
func salvageInto(ctx context.Context, old *File, fresh string, number, total int) (kept *saved, err error) {
	if err := create(fresh, old.kind, number, total); err != nil {
		return nil, err
	}
	to, err := attachFile(fresh, old.kind, SchemaVersion, "")
	if err != nil {
		return nil, err
	}
	err = to.Write(ctx, func(tx *sql.Tx) error {
		from, end, err := old.snapshot(ctx)
		if err != nil {
			return err
		}
		defer end()
		kept, err = old.rescueInto(ctx, from, to, tx, nil)
		return err
	})
	return kept, errors.Join(err, to.Close())
}

// removeFile removes a file of SQLite's with what is beside it.
func removeFile(path string) error {
	var errs []error
	for _, suffix := range append([]string{""}, sidecars[:]...) {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// asideName returns a name in the folder aside that no repair before has used,
// be it one of the same second that was killed.
func asideName(aside, path string) string {
	return filepath.Join(aside, time.Now().UTC().Format("20060102T150405.000000000Z-")+filepath.Base(path))
}

// copyAside copies a file under a new name, durable on return.
func copyAside(path, name string) error {
	if err := MakeFolder(filepath.Dir(name)); err != nil {
		return err
	}
	if err := copyPlain(path, name); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(name))
}

// copyPlain copies a file under a new name and syncs the copy.
func copyPlain(path, name string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
