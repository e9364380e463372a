package shard

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"arborist/shard/corpus"
)

// ErrBroken: a file of ours cannot be used. The error says why, and wraps
// [ErrCorrupt] as well; not what it is about, because a file that is missing is
// something else than a document that is.
var ErrBroken = errors.New("the file cannot be used")

// MendBroken says what to do about a file that cannot be used.
const MendBroken = "bring it back from a backup, or stop the daemon and mend it: arborist check --repair"

// OpenDamaged is [OpenShared] for the set's owner: a shard that cannot be used
// (missing, damaged at its head, of another kind, no plain file) does not keep
// the others from being used. What is in its place is not opened. Until it is
// mended ([SalvageShared])
//
//   - [Shared.Damage] tells of it, and so does Check;
//   - searches leave it out, and say so in Results.Refused;
//   - whatever needs it, all writing among that, fails with [ErrBroken].
//
// So it is with the file of corpora, about which calls fail with [ErrLogs].
//
// How many files the set has is what those say that can be read, or where none
// can, their names. It fails as OpenShared does where a file is newer or belongs
// to another set.
func OpenDamaged(dir string) (*Shared, error) {
	s, err := openShared(dir, openFilesAnyway, openLogsAnyway)
	if err != nil {
		return nil, fmt.Errorf("open shards in %s: %w", dir, err)
	}
	return s, nil
}

// openFilesAnyway opens the shards of a folder, with a broken File for each
// that cannot be used.
func openFilesAnyway(dir string) (files []*File, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	there, err := shardNumbers(dir)
	if err != nil {
		return nil, err
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("%w: no shards in it", ErrNotFound)
	}
	numbers := make([]int, 0, len(there))
	for n := range there {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	opened, errs := make([]*File, len(numbers)), make([]error, len(numbers))
	err = each(len(numbers), func(i int) error {
		opened[i], errs[i] = openShard(dir, numbers[i])
		if errs[i] != nil && !isBroken(errs[i]) {
			return errs[i]
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, closeFiles(opened))
	}
	total, err := totalOf(numbers, opened, errs)
	if err != nil {
		return nil, errors.Join(err, closeFiles(opened))
	}
	files = make([]*File, total)
	for i := range files {
		path := filepath.Join(dir, fileName(i))
		at, ok := slices.BinarySearch(numbers, i)
		switch {
		case !ok:
			files[i] = brokenFile(path, KindShared, errMissing)
		case errs[at] != nil:
			files[i] = brokenFile(path, KindShared, errs[at])
		default:
			files[i] = opened[at]
		}
		files[i].number, files[i].total = i, total
		files[i].workshop = files[0].workshop
	}
	return files, nil
}

// totalOf returns how many files a set has: what those say that could be
// opened, and must say alike. Where none could, it is told by their names, if
// these are all that a set has.
func totalOf(numbers []int, opened []*File, errs []error) (int, error) {
	total := 0
	for _, f := range opened {
		switch {
		case f == nil:
		case total == 0:
			total = f.total
		case f.total != total:
			return 0, f.fail(fmt.Errorf("%w: the file is one of %d, others are of %d", ErrSet, f.total, total))
		}
	}
	last := numbers[len(numbers)-1]
	if n := len(numbers); total == 0 && last == n-1 && n&(n-1) == 0 {
		return n, nil
	}
	if total == 0 {
		return 0, errors.Join(errs...)
	}
	if last >= total {
		return 0, fmt.Errorf("%w: %s does not belong to a set of %d", ErrSet, fileName(last), total)
	}
	return total, nil
}

// isBroken reports whether an error of opening a file of ours is about the file
// itself: nothing but another file in its place helps.
func isBroken(err error) bool {
	for _, is := range []error{ErrCorrupt, ErrKind, ErrUnsafe, ErrNotFound, ErrSet, ErrBroken} {
		if errors.Is(err, is) {
			return !corpus.IsFull(err)
		}
	}
	return false
}

// brokenFile returns a File for one that cannot be used: whatever is asked of
// it fails with [ErrBroken] and the reason.
func brokenFile(path string, kind Kind, why error) *File {
	f := newFile(path, kind)
	// The words of the reason, and not what it wraps.
	f.broken = fmt.Errorf("%w (%w): %s", ErrBroken, ErrCorrupt, pathless(why))
	f.reader = corpus.Refusing(f.broken)
	f.writer = f.reader
	f.total = 1
	return f
}

// openLogsAnyway opens the file of corpora, with a Store on which every call
// fails with [ErrLogs] and the reason where it cannot be used.
func openLogsAnyway(path string) (*corpus.Store, error) {
	store, err := openLogs(path)
	if !errors.Is(err, ErrLogs) {
		return store, err
	}
	return corpus.Unusable(path, err), nil
}

// pathless returns an error without the paths that stand before it, for one that
// says the path itself.
func pathless(err error) error {
	var fe *FileError
	for errors.As(err, &fe) {
		err = fe.Err
	}
	return err
}

// OpenFileAnyway is [OpenFile] for the file's owner: where there is a file that
// cannot be used, it returns one on which every call fails with [ErrBroken],
// and leaves what is there alone.
func OpenFileAnyway(path string, kind Kind, schema string) (*File, error) {
	f, err := OpenFile(path, kind, schema)
	if err != nil && isBroken(err) && !errors.Is(err, ErrNotFound) {
		return brokenFile(path, kind, err), nil
	}
	return f, err
}

// UnusableFile is what [OpenFileAnyway] returns for a file that cannot be used: for an
// owner whose own tables in it say so.
func UnusableFile(path string, kind Kind, why error) *File { return brokenFile(path, kind, why) }

// Broken says why the file cannot be used; nil where it can.
func (f *File) Broken() error {
	if f.broken == nil {
		return nil
	}
	return &FileError{Path: f.path, Err: f.broken}
}

// Damage says what is known to be wrong with the file: that it cannot be used,
// or the first damage that was met in reading it since it was opened, repaired
// or checked without a finding. It reads nothing.
func (f *File) Damage() error {
	if f.broken != nil {
		return f.Broken()
	}
	if err := f.met.Load(); err != nil {
		return &FileError{Path: f.path, Err: *err}
	}
	return nil
}

// Damage is [File.Damage] of each file of the set that has any, and says whether
// the file of corpora cannot be used.
func (s *Shared) Damage() (all []error) {
	s.gate.enter()
	defer s.gate.leave()
	for _, f := range s.files {
		if err := f.Damage(); err != nil {
			all = append(all, err)
		}
	}
	if err := s.corpora.Broken(); err != nil {
		all = append(all, err)
	}
	return all
}

// whole fails where a file of the set cannot be used, before anything is
// written that would need it.
func (s *Shared) whole() error {
	s.gate.enter()
	defer s.gate.leave()
	return s.unbroken()
}

// unbroken is whole for somebody inside the gate.
func (s *Shared) unbroken() error {
	for _, f := range s.files {
		if f.broken != nil {
			return f.Broken()
		}
	}
	return s.corpora.Broken()
}

// meet remembers the first damage that is met in a file of ours.
func (f *File) meet(err error) {
	if !f.foreign && isCorrupt(err) {
		f.met.CompareAndSwap(nil, &err)
	}
}
