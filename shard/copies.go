package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"

	"arborist/shard/corpus"
	"arborist/shard/internal/pages"
)

// A fileFormat says how a file of ours is rescued.
type fileFormat struct {
	create func(path string) error                          // makes a new file
	gather func(ctx context.Context, from, to string) error // fills a new one with rows that stand on pages of another
}

// shardFormat is that of documents. What a rescue reads of its file is unproven.
var shardFormat = fileFormat{
	create: func(path string) error { return create(path, KindShared, 0, 1) },
	gather: gatherDocuments,
}

// gatherDocuments gathers rows of the tables that a rescue reads.
func gatherDocuments(ctx context.Context, from, to string) error {
	db, err := connect(to, creating)
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var c codec
	tables := []string{"documents", "leaves", "texts", "origins", "locations"}
	err = pages.Gather(ctx, from, pages.Limits{PageSize: pageSize, MaxRow: maxValue}, tx, tables, func(table string, values []any) bool {
		if table != "texts" {
			return true
		}
		var frame storedText // rows of the index look like those of texts
		data, _ := values[1].([]byte)
		return c.decode(&frame, data) == nil
	})
	if err != nil {
		return err
	}
	return errors.Join(tx.Commit(), db.Close())
}

// rescueBroken fills a new file with the documents of a broken one that still
// hash to their roots: of the ways to read it, by that which most come by.
func rescueBroken(ctx context.Context, path, fresh string, kind Kind, number, total int) (best *saved, err error) {
	if plain(path) != nil {
		return nil, errNothingLeft
	}
	if found, _, err := inspectFile(path); err == nil && (found == KindShared || found == KindPrivate) && found != kind {
		return nil, errNothingLeft // above all, nothing private goes where peers read
	}
	err = eachCopy(ctx, path, shardFormat, func(work string) (done bool, err error) {
		kept, err := rescueCopy(ctx, work, path, fresh, kind, number, total, best)
		if err != nil {
			return corpus.IsFull(err) || ctx.Err() != nil, err
		}
		best = kept
		return kept.documents > 0 && !kept.unread, nil
	})
	if best != nil && best.documents > 0 && errors.Is(err, errNothingLeft) {
		err = nil
	}
	return best, err
}

// salvagePages is the last of the ways of eachCopy, for a file of which before was
// saved by another; it returns what is in fresh afterwards.
func salvagePages(ctx context.Context, path, fresh string, kind Kind, number, total int, before *saved) (*saved, error) {
	work := path + ".rescue"
	defer removeFile(work)
	if err := gatherCopy(ctx, path, work, shardFormat); err != nil {
		return nil, err
	}
	return rescueCopy(ctx, work, path, fresh, kind, number, total, before)
}

// eachCopy calls rescue with copies of a file that may hold anything, until it is
// done: as it is; then, in place of a damaged one, with the first page of a new
// file, and of one that was compacted: only where the tables begin stands in it; and
// a new file of all rows that stand on pages that are whole, for where pages that
// lead to them are not. [errNothingLeft]: it was never done.
func eachCopy(ctx context.Context, path string, l fileFormat, rescue func(work string) (done bool, err error)) error {
	work := path + ".rescue"
	defer removeFile(work)
	for _, way := range []func() error{
		func() error { return copyWithLog(path, work) },
		func() error { return errors.Join(copyWithLog(path, work), graft(work, l.create, "")) },
		func() error { return errors.Join(copyWithLog(path, work), graft(work, l.create, "VACUUM")) },
		func() error { return gatherCopy(ctx, path, work, l) },
	} {
		if err := errors.Join(removeFile(work), way()); err != nil {
			return err
		}
		if done, err := rescue(work); done {
			return err
		}
	}
	return errNothingLeft
}

// copyWithLog copies a file and the write-ahead log beside it, where there is one.
func copyWithLog(path, to string) error {
	for _, suffix := range []string{"", "-wal"} {
		if err := copyPlain(path+suffix, to+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// gatherCopy makes a new file of the rows that stand on the pages of another one,
// with what its log holds, where SQLite can move that into the file, or without.
func gatherCopy(ctx context.Context, path, work string, l fileFormat) error {
	if _, err := os.Lstat(path + "-wal"); err == nil {
		moved := work + ".moved"
		defer removeFile(moved)
		if err := errors.Join(removeFile(moved), copyWithLog(path, moved)); err != nil {
			return err
		}
		if db, err := connect(moved, creating); err == nil {
			_, err = db.ExecContext(ctx, "SELECT 1") // to leave the WAL mode moves the log
			if err := errors.Join(err, db.Close()); corpus.IsFull(err) {
				return err
			}
		}
		path = moved
	}
	if err := errors.Join(removeFile(work), l.create(work)); err != nil {
		return err
	}
	return l.gather(ctx, path, work)
}

// rescueCopy reads whatever it can of a file that may hold anything into a new one,
// which takes the place of fresh where that is better than what was saved before.
// It returns what is in fresh then.
func rescueCopy(ctx context.Context, work, path, fresh string, kind Kind, number, total int, before *saved) (*saved, error) {
	old := newFile(work, kind)
	var err error
	if old.reader, err = connect(work, reading); err != nil {
		return nil, err
	}
	defer old.Close()
	attempt := fresh + ".attempt"
	defer removeFile(attempt)
	if err := removeFile(attempt); err != nil {
		return nil, err
	}
	kept, err := salvageInto(ctx, old, attempt, number, total)
	if err != nil || !kept.better(before) {
		return before, err
	}
	for _, l := range kept.lost {
		l.File = path
	}
	return kept, errors.Join(removeFile(fresh), os.Rename(attempt, fresh))
}

// graft gives a file the first page that a new one has, after a statement.
func graft(path string, create func(string) error, then string) error {
	donor := path + ".donor"
	defer removeFile(donor)
	if err := errors.Join(removeFile(donor), create(donor)); err != nil {
		return err
	}
	if then != "" {
		db, err := connect(donor, creating)
		if err != nil {
			return err
		}
		_, err = db.Exec(then)
		if err := errors.Join(err, db.Close()); err != nil {
			return err
		}
	}
	page, err := os.ReadFile(donor)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	page = page[:pageSize]
	binary.BigEndian.PutUint32(page[28:], uint32(info.Size()/pageSize)) // pages of the file
	copy(page[32:40], make([]byte, 8))                                  // no free pages
	copy(page[92:96], page[24:28])                                      // the number of pages is to be believed
	page[18], page[19] = 2, 2                                           // a log may lie beside it
	_, err = f.WriteAt(page, 0)
	return err
}
