package shard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"arborist/shard/corpus"
)

// readySuffix names a file that is to take the place of the one without the
// suffix: it is whole and durable, and what it replaces is kept elsewhere.
const readySuffix = ".ready"

// SalvageShared is [SalvageFile] for the shards of a folder, after the file of
// corpora; one that is missing is made anew, empty. Where documents are lost, it
// says how many of those that the logs list.
func SalvageShared(ctx context.Context, dir, aside string, r Repair) error {
	total, err := SetSize(dir)
	if err != nil || total == 0 {
		return err
	}
	if err := salvageLogs(ctx, filepath.Join(dir, CorporaName), aside, r); err != nil {
		return err
	}
	for number := range total {
		path := filepath.Join(dir, fileName(number))
		replaced, err := salvageFile(ctx, path, KindShared, number, total, aside, r)
		if err != nil {
			return err
		}
		if replaced {
			if err := sayLost(ctx, path, number, total, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// SalvageFile mends one file of ours that nobody has open: [Salvage] where its
// pages are damaged. Where it cannot be opened at all (its head is damaged, its
// schema is not ours, it is of another kind, or no file of its own) it goes into
// the folder aside, and a new one takes its place, with what can be read of the
// old one: nothing, if need be. A crash leaves the old file or the new one.
// [ErrNotFound]: there is none.
func SalvageFile(ctx context.Context, path string, kind Kind, number, total int, aside string, r Repair) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return named(path, ErrNotFound)
	}
	_, err := salvageFile(ctx, path, kind, number, total, aside, r)
	return err
}

func salvageFile(ctx context.Context, path string, kind Kind, number, total int, aside string, r Repair) (replaced bool, err error) {
	if err := errors.Join(takeReady(path), sweep(path)); err != nil {
		return false, err
	}
	why := Salvage(ctx, path, kind, number, total, aside, r)
	if why == nil {
		why = opens(path, kind, number, total)
	}
	if why == nil && r.Usable != nil {
		why = r.Usable(path)
	}
	switch {
	case why == nil:
		return false, nil
	case !isBroken(why):
		return false, why
	}
	if err := replaceBroken(ctx, path, kind, number, total, aside, why, r); err != nil {
		return false, named(path, fmt.Errorf("replace it: %w", err))
	}
	return true, nil
}

// opens says why a file of a set cannot be used.
func opens(path string, kind Kind, number, total int) error {
	found, version, err := inspect(path)
	if err == nil {
		err = expect(found, version, kind)
	}
	if err != nil {
		return named(path, err)
	}
	f, err := attachFile(path, kind, version, "")
	if err != nil {
		return named(path, err)
	}
	defer f.Close()
	if f.number != number || f.total != total {
		return f.fail(fmt.Errorf("%w: it says that it is shard %d of %d, and stands at %d of %d", ErrSet, f.number, f.total, number, total))
	}
	return nil
}

// replaceBroken puts a new file into the place of one that cannot be used.
func replaceBroken(ctx context.Context, path string, kind Kind, number, total int, aside string, why error, r Repair) error {
	say := func(format string, args ...any) { r.Did(path + ": " + fmt.Sprintf(format, args...)) }
	why = pathless(why)
	if isNotFound(why) {
		why = errMissing
	}
	say("it cannot be used: %v", why)
	fresh := path + ".salvaged"
	defer removeFile(fresh) // only there where something failed, or in a dry run
	kept, err := rescueBroken(ctx, path, fresh, kind, number, total)
	if errors.Is(err, errNothingLeft) {
		say("none of its documents can be read: an empty file takes its place")
		kept, err = new(saved), errors.Join(removeFile(fresh), create(fresh, kind, number, total))
	} else if err == nil {
		say("%d of its documents can be read, and go into the file that takes its place", kept.documents)
	}
	if err != nil {
		return err
	}
	sayNotKept(say, kept)
	if r.DryRun {
		return nil
	}
	if err := keepAll(kept.lost, r.Keep); err != nil {
		return err
	}
	if err := carryOver(ctx, path, fresh, r); err != nil {
		return err
	}
	return takePlace(path, fresh, aside, say)
}

// carryOver has the owner bring its tables from a file that cannot be used into the
// one that takes its place, where it can be read as a file of SQLite's at all.
func carryOver(ctx context.Context, path, fresh string, r Repair) error {
	if r.Carry == nil || plain(path) != nil {
		return nil
	}
	old, err := connect(path, reading)
	if err != nil {
		return err
	}
	defer old.Close()
	return r.Carry(ctx, old, fresh)
}

// takePlace puts the file fresh into the place of the one at path, and what stood
// there into the folder aside.
func takePlace(path, fresh, aside string, say func(string, ...any)) error {
	name := asideName(aside, path)
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if err := keepBroken(path+suffix, name+suffix, say); err != nil {
			return err
		}
	}
	if err := os.Rename(fresh, path+readySuffix); err != nil {
		return err
	}
	if err := SyncFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return takeReady(path)
}

// takeReady ends what a crash may have cut short: where a file is ready to take
// the place of another, it does. A log of the old file must not meet the new one.
func takeReady(path string) error {
	if err := plain(path + readySuffix); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return named(path+readySuffix, err)
	}
	for _, suffix := range sidecars {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := SyncFolder(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Rename(path+readySuffix, path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// settleFolder ends, in a folder of shards, what a crash cut short.
func settleFolder(dir string) error {
	if err := errors.Join(finishSplit(dir, nil), removeLeftovers(dir)); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), readySuffix); ok && (shardName.MatchString(name) || name == CorporaName) {
			if err := takeReady(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeLeftovers removes, in a folder of shards, what a compaction or a
// salvage that was killed has left.
func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		name, _, ok := strings.Cut(e.Name(), ".db.")
		if name += ".db"; ok && (shardName.MatchString(name) || name == CorporaName) {
			if err := sweep(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweep removes what one that was killed has left beside one file.
func sweep(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		what, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if ok && (strings.HasPrefix(what, "salvaged") || strings.HasPrefix(what, "rescue")) {
			if err := os.Remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil {
				return err
			}
		}
	}
	return corpus.RemoveRebuild(path)
}

// keepBroken copies a plain file, or moves aside what is none, without looking
// where it leads.
func keepBroken(path, name string, say func(string, ...any)) error {
	err := plain(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		err = copyAside(path, name)
	case errors.Is(err, ErrUnsafe):
		if err = MakeFolder(filepath.Dir(name)); err == nil {
			err = os.Rename(path, name)
		}
	}
	if err == nil {
		say("what stood there is kept as %s", name)
	}
	return err
}

// errMissing is how a file that is not there is spoken of.
var errMissing = errors.New("it is missing")

// errNothingLeft: no document of a file can be read.
var errNothingLeft = errors.New("nothing can be read")

// sayLost says what the logs list of a file that was made anew and that it lacks.
func sayLost(ctx context.Context, path string, number, total int, r Repair) (err error) {
	store, err := corpus.Open(filepath.Join(filepath.Dir(path), CorporaName))
	if err != nil {
		r.Did(path + ": what the logs list of it is not known: " + err.Error())
		return nil
	}
	defer store.Close()
	files := make([]*File, total)
	for i := range files {
		files[i] = brokenFile(path, KindShared, errNothingLeft)
	}
	defer closeFiles(files)
	if f := files[number]; !r.DryRun {
		if f.reader, err = connect(path, reading); err != nil {
			return err
		}
	}
	set := &Shared{files: files, corpora: store}
	infos, err := store.List(ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		missing, unread, err := set.missing(ctx, info, nil)
		if err != nil {
			return err
		}
		if n := len(missing) + unread[files[number]]; n > 0 && r.DryRun {
			r.Did(fmt.Sprintf("%s: corpus %s lists %d documents of it", path, info.Origin, n))
		} else if n > 0 {
			r.Did(fmt.Sprintf("%s: corpus %s lists %d documents whose text is lost here: bring them back with arborist check --heal, or add them again", path, info.Origin, n))
		}
	}
	return nil
}
