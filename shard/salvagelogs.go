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

// salvageLogs mends the file of corpora, which nobody has open, where it cannot be
// used, or holds something else than its records give, or records that are not
// those of its heads: it makes a new one of these ([corpus.Rescue]), and keeps the
// old one in the folder aside. What is lost of a log is known to be in the new file,
// where a sync can bring it back and nothing is signed before; in the old one
// neither holds.
func salvageLogs(ctx context.Context, path, aside string, r Repair) error {
	if err := errors.Join(takeReady(path), sweep(path)); err != nil {
		return err
	}
	why, err := faultOfLogs(ctx, path)
	if why == "" || err != nil {
		return err
	}
	say := func(format string, args ...any) { r.Did(path + ": " + fmt.Sprintf(format, args...)) }
	say("%s", why)
	fresh := path + ".salvaged"
	defer removeFile(fresh) // only there where something failed, or nothing is replaced
	var problems []string
	kept, err := rescueLogs(ctx, path, fresh, r.Own, func(p string) { problems = append(problems, p) })
	if errors.Is(err, errNothingLeft) {
		say("no corpus can be read: an empty file takes its place")
		err = errors.Join(removeFile(fresh), newLogs(fresh))
	}
	if err != nil {
		return named(path, fmt.Errorf("rescue it: %w", err))
	}
	for _, p := range problems {
		say("%s", p)
	}
	for _, l := range kept {
		say("corpus %s: %d of %d records can be read, and go into the file that takes its place", l.Origin, l.Records, l.Signed)
		if l.Behind > 0 {
			say("corpus %s: %d records behind those are kept until what is lost is back", l.Origin, l.Behind)
		}
		if l.Records < l.Signed {
			say("bring back the others: arborist peer sync FROM %s", l.Origin)
		}
	}
	if r.DryRun {
		return nil
	}
	return takePlace(path, fresh, aside, say)
}

// faultOfLogs says what is wrong with a file of corpora, "" where nothing is.
func faultOfLogs(ctx context.Context, path string) (why string, err error) {
	if err := plain(path); errors.Is(err, fs.ErrNotExist) {
		return errMissing.Error(), nil // opening it would make one
	} else if errors.Is(err, ErrUnsafe) {
		return err.Error(), nil
	} else if err != nil {
		return "", err
	}
	store, err := corpus.Open(path)
	if err == nil {
		_, err = store.Check(ctx, func(problem string) {
			if why == "" {
				why = strings.TrimPrefix(problem, path+": ")
			}
		})
		err = errors.Join(err, store.Close())
	}
	switch {
	case errors.Is(err, corpus.ErrCorrupt), errors.Is(err, corpus.ErrForeign):
		return "it cannot be used: " + err.Error(), nil
	case err != nil:
		return "", err
	}
	return why, nil
}

// rescueLogs fills a new file with what can be read of a damaged one: of the ways
// to read it, that by which most records come.
func rescueLogs(ctx context.Context, path, fresh string, own []corpus.Kept, report func(string)) (kept []corpus.Rescued, err error) {
	if plain(path) != nil {
		return nil, errNothingLeft
	}
	attempt, most := fresh+".attempt", -1
	defer removeFile(attempt)
	var problems []string
	err = eachCopy(ctx, path, fileFormat{newLogs, corpus.Gather}, func(work string) (done bool, err error) {
		if err := removeFile(attempt); err != nil {
			return true, err
		}
		var said []string
		got, err := corpus.Rescue(ctx, work, attempt, own, relister(filepath.Dir(path)), func(p string) { said = append(said, p) })
		if err != nil {
			return true, err
		}
		records, whole := 0, len(got) > 0
		for _, l := range got {
			records, whole = records+int(l.Records+l.Behind), whole && l.Records == l.Signed
		}
		if len(got) > 0 && records > most {
			most, kept, problems = records, got, said
			err = errors.Join(removeFile(fresh), os.Rename(attempt, fresh))
		}
		return whole || err != nil, err
	})
	if errors.Is(err, errNothingLeft) && most >= 0 {
		err = nil
	}
	for _, p := range problems {
		report(p)
	}
	return kept, err
}

// newLogs makes an empty file of corpora, which stands alone.
func newLogs(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	store, err := corpus.Open(path)
	if err != nil {
		return err
	}
	return store.Close()
}
