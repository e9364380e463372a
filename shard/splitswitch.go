package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// splitSuffix names the files of a set that is being made.
const splitSuffix = ".split"

// commitName is the file that says that the files with [splitSuffix] are the set
// from now on: it holds their number, in decimal, and a line end. Until it is
// there they are nothing; once it is, they only have to be renamed.
const commitName = "split.commit"

// splitName matches whatever a split makes but the commit.
var splitName = regexp.MustCompile(`^[0-9a-f]{2}\.db\.split(\.[0-9A-Z]{8}\.new)?(-wal|-shm|-journal)?$`)

// change switches to the new set, which is whole. Writing waits already; it
// waits for all reading to end, and until it returns nothing is read.
func (sp *split) change() (stopped time.Duration, err error) {
	for _, h := range sp.halves {
		if err := h.close(); err != nil { // each stands alone then
			return 0, err
		}
	}
	began := time.Now()
	if !sp.set.gate.close(drainTime) {
		return 0, fmt.Errorf("something has read the files for over %s; nothing was changed, try again", drainTime)
	}
	defer sp.set.gate.open()
	sp.step()
	if err := closeFiles(sp.set.files); err != nil {
		return 0, errors.Join(err, sp.reopen())
	}
	sp.step()
	if err := writeCommit(sp.dir, sp.total); err != nil {
		return 0, errors.Join(err, sp.reopen())
	}
	sp.switched = true
	sp.step()
	if err := finishSplit(sp.dir, sp.set.atStep); err != nil {
		// What is left to rename is renamed when the set is opened.
		err = fmt.Errorf("the new set is made and could not be put into place: %w; start again", err)
		sp.set.use(unusableSet(sp.dir, sp.total, err))
		return 0, err
	}
	err = sp.reopen()
	return time.Since(began), err
}

// reopen opens the files that are the set.
func (sp *split) reopen() error {
	files, err := openFilesAnyway(sp.dir)
	if err != nil {
		files = unusableSet(sp.dir, len(sp.set.files), err)
	}
	sp.set.use(files)
	return err
}

// unusableSet stands for a set of which no file can be used in this process.
func unusableSet(dir string, total int, why error) []*File {
	files := make([]*File, total)
	for i := range files {
		files[i] = brokenFile(filepath.Join(dir, fileName(i)), KindShared, why)
		files[i].number, files[i].total = i, total
	}
	return files
}

// writeCommit makes the new set the one that counts, durable on return.
func writeCommit(dir string, total int) error {
	if err := SyncFolder(dir); err != nil { // the names of the new files
		return err
	}
	temp := filepath.Join(dir, commitName+".new")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d\n", total)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, commitName)); err != nil {
		return err
	}
	return SyncFolder(dir)
}

// finishSplit ends a switch that was begun, and otherwise removes what a split
// that was cut short has made. Nobody has the files open.
func finishSplit(dir string, atStep func()) error {
	if atStep == nil {
		atStep = func() {}
	}
	b, err := os.ReadFile(filepath.Join(dir, commitName))
	if errors.Is(err, fs.ErrNotExist) {
		return removeSplit(dir)
	}
	if err != nil {
		return err
	}
	total, err := strconv.Atoi(strings.TrimSuffix(string(b), "\n"))
	if err != nil || total < 2 || total > MaxShards || total&(total-1) != 0 {
		return corrupt("%s: %.20q is no number of shards", filepath.Join(dir, commitName), b)
	}
	for i := range total {
		path := filepath.Join(dir, fileName(i))
		if _, err := os.Lstat(path + splitSuffix); errors.Is(err, fs.ErrNotExist) {
			continue // it is in its place
		}
		// A log of the old file must not meet the new one.
		for _, suffix := range sidecars {
			if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := SyncFolder(dir); err != nil {
			return err
		}
		atStep()
		if err := os.Rename(path+splitSuffix, path); err != nil {
			return err
		}
		atStep()
	}
	if err := SyncFolder(dir); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, commitName)); err != nil {
		return err
	}
	atStep()
	return SyncFolder(dir)
}

// removeSplit removes what a split has made that does not count.
func removeSplit(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if splitName.MatchString(e.Name()) || e.Name() == commitName+".new" {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
