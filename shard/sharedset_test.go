package shard

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpenSharedRefusesWhatIsNotShared(t *testing.T) {
	for name, c := range map[string]struct {
		want error
		make func(t *testing.T, dir string)
	}{
		"a private file": {ErrKind, func(t *testing.T, dir string) {
			os.Rename(donor(t, KindPrivate), filepath.Join(dir, "01.db"))
		}},
		"a link to a private file": {ErrUnsafe, func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "01.db"))
			os.Symlink(donor(t, KindPrivate), filepath.Join(dir, "01.db"))
		}},
		"a link to a shared file outside": {ErrUnsafe, func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "01.db"))
			os.Symlink(donor(t, KindShared), filepath.Join(dir, "01.db"))
		}},
		"a hard link to a private file": {ErrUnsafe, func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "01.db"))
			os.Link(donor(t, KindPrivate), filepath.Join(dir, "01.db"))
		}},
		"a second name outside": {ErrUnsafe, func(t *testing.T, dir string) {
			os.Link(filepath.Join(dir, "01.db"), filepath.Join(t.TempDir(), "outside.db"))
		}},
		"a pipe": {ErrUnsafe, func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "01.db"))
			syscall.Mkfifo(filepath.Join(dir, "01.db"), 0o600)
		}},
		"a folder": {ErrUnsafe, func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "01.db"))
			os.Mkdir(filepath.Join(dir, "01.db"), 0o700)
		}},
		"its log a link": {ErrUnsafe, func(t *testing.T, dir string) {
			os.Symlink(filepath.Join(t.TempDir(), "log"), filepath.Join(dir, "01.db-wal"))
		}},
		"corpora a link": {ErrUnsafe, func(t *testing.T, dir string) {
			os.Symlink(donor(t, KindPrivate), filepath.Join(dir, CorporaName))
		}},
		"a missing shard": {ErrSet, func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "01.db")) }},
		"the last missing": {ErrSet, func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "03.db"))
		}},
		"half of them missing": {ErrSet, func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "02.db"))
			os.Remove(filepath.Join(dir, "03.db"))
		}},
		"one too many": {ErrSet, func(t *testing.T, dir string) {
			os.Rename(donor(t, KindShared), filepath.Join(dir, "04.db"))
		}},
		"a number that is none": {ErrSet, func(t *testing.T, dir string) {
			os.Rename(donor(t, KindShared), filepath.Join(dir, "0A1.db"))
		}},
		"two files exchanged": {ErrSet, func(t *testing.T, dir string) {
			os.Rename(filepath.Join(dir, "01.db"), filepath.Join(dir, "x"))
			os.Rename(filepath.Join(dir, "02.db"), filepath.Join(dir, "01.db"))
			os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "02.db"))
		}},
		"a file of another set": {ErrSet, func(t *testing.T, dir string) {
			os.Rename(donor(t, KindShared), filepath.Join(dir, "01.db"))
		}},
		"a newer file": {ErrNewer, func(t *testing.T, dir string) {
			patch(t, filepath.Join(dir, "02.db"), 60, binary.BigEndian.AppendUint32(nil, SchemaVersion+1))
		}},
		"a view inside": {ErrCorrupt, func(t *testing.T, dir string) {
			tamper(t, filepath.Join(dir, "02.db"), "CREATE VIEW v AS SELECT 1")
		}},
		"an empty file":  {ErrKind, func(t *testing.T, dir string) { os.Truncate(filepath.Join(dir, "02.db"), 0) }},
		"an empty store": {ErrNotFound, func(t *testing.T, dir string) { os.RemoveAll(dir); os.Mkdir(dir, 0o700) }},
		"no store":       {ErrNotFound, func(t *testing.T, dir string) { os.RemoveAll(dir) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "shards")
			if err := CreateShared(dir, 4); err != nil {
				t.Fatal(err)
			}
			c.make(t, dir)
			s, err := OpenShared(dir)
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			t.Log(err)
		})
	}
}

func TestAPrivateFileIsNotOpenedAsShared(t *testing.T) {
	for _, c := range []struct{ made, opened Kind }{{KindPrivate, KindShared}, {KindShared, KindPrivate}} {
		if f, err := OpenFile(donor(t, c.made), c.opened, ""); !errors.Is(err, ErrKind) {
			t.Errorf("a %s file as a %s one: %v", c.made, c.opened, err)
			if err == nil {
				f.Close()
			}
		}
	}
}

func TestCreatingASetAgainChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shards")
	for range 2 {
		if err := CreateShared(dir, 4); err != nil {
			t.Fatal(err)
		}
	}
	s := openTestShared(t, dir)
	put1(t, s, entry(t, "test:a", "some text"))
	s.Close()
	before := snapshot(t, dir)
	if err := CreateShared(dir, 4); err != nil {
		t.Fatal(err)
	}
	for name, bytes := range snapshot(t, dir) {
		if before[name] != bytes {
			t.Errorf("%s changed", name)
		}
	}
	for _, n := range []int{2, 8} {
		if err := CreateShared(dir, n); !errors.Is(err, ErrSet) {
			t.Errorf("%d shards where 4 are: %v", n, err)
		}
	}
	// An interrupted call is completed.
	os.Remove(filepath.Join(dir, "03.db"))
	if err := CreateShared(dir, 4); err != nil {
		t.Error(err)
	}
	for _, n := range []int{0, -1, 3, 512} {
		if err := CreateShared(t.TempDir(), n); err == nil {
			t.Errorf("%d shards were made", n)
		}
	}
}

func TestClosedFilesStandAloneForWhoeverGetsThem(t *testing.T) {
	s := newShared(t, 2)
	put1(t, s, generated(t, 30)...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(s.Dir())
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-wal") || strings.HasSuffix(e.Name(), "-journal") {
			t.Errorf("%s is left", e.Name())
		}
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	f, err := OpenForeign(filepath.Join(s.Dir(), "01.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := mustCheck(t, f); n == 0 {
		t.Error("nothing in it")
	}
}
