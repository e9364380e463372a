package shard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"arborist/shard/corpus"
)

// Whatever a disk makes of the head and the schema of any file, a check tells of
// it and goes on with the others. What says that it is of a newer version is
// refused before that: nobody but that version knows what it means.
func TestACheckTellsOfEveryDamagedHeadAndGoesOn(t *testing.T) {
	const documents = 16
	dir, _ := published(t, documents)
	private := filepath.Join(dir, "web", "web.db")
	if err := MakeFolder(filepath.Dir(private)); err != nil {
		t.Fatal(err)
	}
	if f, err := OpenFile(private, KindPrivate, ""); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	type run struct {
		from, n int
		is      byte
	}
	var runs []run
	for at := 0; at < 112; at += 4 { // the head of the file, and that of its first page
		runs = append(runs, run{at, 4, 0xff})
	}
	for at := 112; at < pageSize; at += 499 { // the schema
		runs = append(runs, run{at, 200, 0}, run{at, 200, 0xff})
	}
	for _, path := range []string{filepath.Join(dir, "01.db"), filepath.Join(dir, CorporaName), private} {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, r := range runs {
			damaged := append([]byte(nil), whole...)
			for i := range r.n {
				damaged[r.from+i] = r.is
			}
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			problems, err := checkAnyway(t, dir, private)
			switch newer := errors.Is(err, ErrNewer) || errors.Is(err, corpus.ErrNewer); {
			case newer && r.from == 60:
			case err != nil:
				t.Errorf("%s, %d bytes of %#x from %d: %v", filepath.Base(path), r.n, r.is, r.from, err)
			case len(problems) > 0:
				told++
			}
		}
		if told < 12 {
			t.Errorf("%s: only %d kinds of damage were seen", filepath.Base(path), told)
		}
		if err := errors.Join(removeFile(path), os.WriteFile(path, whole, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// checkAnyway checks a set and a private file as their owner does.
func checkAnyway(t *testing.T, dir, private string) (problems []string, err error) {
	report := func(p string) { problems = append(problems, p) }
	s, err := OpenDamaged(dir)
	if err != nil {
		return nil, err
	}
	if _, err = s.Check(t.Context(), report); err != nil {
		return nil, errors.Join(fmt.Errorf("check the set: %w", err), s.Close())
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	f, err := OpenFileAnyway(private, KindPrivate, "")
	if err != nil {
		return nil, err
	}
	if _, err := f.Check(t.Context(), report); err != nil {
		return nil, errors.Join(fmt.Errorf("check the private file: %w", err), f.Close())
	}
	return problems, f.Close()
}
