package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"arborist/document"
	"arborist/ingest"
)

// write makes a file, with the folders on the way to it.
func write(t *testing.T, path string, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
}

// found is what a source emitted and reported.
type found struct {
	raws   []ingest.Raw
	failed map[string]error
}

func (f *found) uris() (uris []string) {
	for _, r := range f.raws {
		uris = append(uris, r.Location.URI)
	}
	return uris
}

func collect(t *testing.T, d Directory) *found {
	t.Helper()
	f := &found{failed: map[string]error{}}
	err := d.Documents(t.Context(), func(r ingest.Raw) error {
		f.raws = append(f.raws, r)
		return nil
	}, func(uri string, err error) { f.failed[uri] = err })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFolderIsReadInLexicalOrderOfItsPaths(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "notes")
	for _, name := range []string{"b.md", "a/c d.html", "a/b/x.txt", "a-b.txt", "a.md", "z.TXT", "m.markdown", "k.htm", "l.xhtml", "o.docx", "p.DOC", "q.xls", "r.ppt", "s.rtf",
		"skipped.bin", "skipped", "t.pdf", "skipped.zip", ".hidden.md", ".git/config.txt", "ä#?.txt"} {
		write(t, filepath.Join(dir, name), name)
	}
	f := collect(t, Directory{Path: dir})
	want := []string{"file:notes/a-b.txt", "file:notes/a.md", "file:notes/a/b/x.txt", "file:notes/a/c%20d.html", "file:notes/b.md",
		"file:notes/k.htm", "file:notes/l.xhtml", "file:notes/m.markdown", "file:notes/o.docx", "file:notes/p.DOC",
		"file:notes/q.xls", "file:notes/r.ppt", "file:notes/s.rtf", "file:notes/t.pdf", "file:notes/z.TXT", "file:notes/%C3%A4%23%3F.txt"}
	if got := f.uris(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if len(f.failed) > 0 {
		t.Errorf("failed: %v", f.failed)
	}
	for i, typ := range []string{"text/plain", "text/markdown", "text/plain", "text/html", "text/markdown", "text/html", "application/xhtml+xml"} {
		if got := f.raws[i].Location; got.ContentType != typ || got.Source != Name {
			t.Errorf("%s: type %q, source %q", got.URI, got.ContentType, got.Source)
		}
	}
}

func TestURIsHoldNoPathOfThisMachine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my docs")
	write(t, filepath.Join(dir, "a.md"), "text")
	t.Chdir(dir)
	for _, c := range []struct {
		d    Directory
		want string
	}{
		{Directory{Path: dir}, "file:my%20docs/a.md"},
		{Directory{Path: dir + "/"}, "file:my%20docs/a.md"},
		{Directory{Path: "."}, "file:my%20docs/a.md"},
		{Directory{Path: "a.md"}, "file:my%20docs/a.md"}, // as in its folder
		{Directory{Path: "./../my docs/a.md"}, "file:my%20docs/a.md"},
		{Directory{Path: dir, BaseURI: "https://example.org/x/"}, "https://example.org/x/a.md"},
		{Directory{Path: filepath.Join(dir, "a.md"), BaseURI: "file:///abs/"}, "file:///abs/a.md"},
	} {
		if got := collect(t, c.d).uris(); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%+v: %q, want %s", c.d, got, c.want)
		}
	}
}

func TestTimeIsTheFilesInWholeSeconds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.md")
	write(t, file, "text")
	at := time.Date(2021, 2, 3, 4, 5, 6, 789, time.FixedZone("", 7200))
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	for range 2 { // an unchanged file gives an unchanged location
		got := collect(t, Directory{Path: file}).raws[0].Location.FetchedAt
		if want := time.Date(2021, 2, 3, 2, 5, 6, 0, time.UTC); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestSingleFileMayHaveAnyName(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".hidden.conf")
	write(t, file, "words")
	f := collect(t, Directory{Path: file})
	if len(f.raws) != 1 || f.raws[0].Location.ContentType != "" || string(f.raws[0].Body) != "words" {
		t.Errorf("%+v, %v", f.raws, f.failed)
	}
}

func TestLinksAreNeverFollowed(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret.md"), "secret")
	dir := filepath.Join(t.TempDir(), "d")
	write(t, filepath.Join(dir, "a.md"), "text")
	for link, target := range map[string]string{
		"out.md": filepath.Join(outside, "secret.md"), "outdir": outside, "in.md": "a.md", "loop": ".", "up": "..", "nowhere.md": "nothing",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	f := collect(t, Directory{Path: dir})
	if got := f.uris(); !slices.Equal(got, []string{"file:d/a.md"}) || len(f.failed) > 0 {
		t.Errorf("in a folder: %q, failed %v", got, f.failed)
	}
	for _, link := range []string{"out.md", "outdir", "in.md"} { // named, they are said to be links
		f := collect(t, Directory{Path: filepath.Join(dir, link)})
		err := f.failed["file:d/"+link]
		if len(f.raws) > 0 || !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s: read %q, failed %v", link, f.uris(), f.failed)
		}
	}
}

// A file that is swapped for a link or a pipe after it was listed is neither
// followed nor waited for.
func TestFileSwappedAfterItWasListedIsRefused(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.md")
	write(t, outside, "secret")
	for name, swap := range map[string]func(string) error{
		"link":  func(p string) error { return os.Symlink(outside, p) },
		"pipe":  func(p string) error { return syscall.Mkfifo(p, 0o644) },
		"gone":  func(string) error { return nil },
		"other": func(p string) error { return os.Mkdir(p, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			write(t, filepath.Join(dir, "a.md"), "text")
			victim := filepath.Join(dir, "b.md")
			write(t, victim, "text")
			f := &found{failed: map[string]error{}}
			err := Directory{Path: dir}.Documents(t.Context(), func(r ingest.Raw) error {
				f.raws = append(f.raws, r)
				if err := os.Remove(victim); err != nil {
					return err
				}
				return swap(victim)
			}, func(uri string, err error) { f.failed[uri] = err })
			if err != nil || len(f.raws) != 1 || f.failed["file:d/b.md"] == nil {
				t.Errorf("read %q, failed %v, %v", f.uris(), f.failed, err)
			}
		})
	}
}

func TestFileSwappedBeforeItIsOpenedIsRefused(t *testing.T) {
	for name, swap := range map[string]func(string) error{
		"link":  func(p string) error { return os.Symlink("other.md", p) },
		"pipe":  func(p string) error { return syscall.Mkfifo(p, 0o644) },
		"other": func(p string) error { return os.WriteFile(p, []byte("other"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "a.md"), "text")
			write(t, filepath.Join(dir, "other.md"), "text")
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			named, err := root.Lstat("a.md")
			if err != nil {
				t.Fatal(err)
			}
			// Held open, so that no new file gets its number.
			held, err := root.Open("a.md")
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			if err := os.Remove(filepath.Join(dir, "a.md")); err != nil {
				t.Fatal(err)
			}
			if err := swap(filepath.Join(dir, "a.md")); err != nil {
				t.Fatal(err)
			}
			if body, _, err := (walk{root: root, limit: 100}).readAs("a.md", named); !errors.Is(err, ErrChanged) {
				t.Errorf("read %q, %v, want ErrChanged", body, err)
			}
		})
	}
}

func TestWhatCannotBeReadIsOneFailureEach(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	write(t, filepath.Join(dir, "good.md"), "text")
	write(t, filepath.Join(dir, "closed.md"), "text")
	write(t, filepath.Join(dir, "closed", "x.md"), "text")
	big := filepath.Join(dir, "big.txt")
	write(t, big, "")
	if err := os.Truncate(big, 200<<20); err != nil { // sparse: it takes no room
		t.Fatal(err)
	}
	for _, p := range []string{"closed.md", "closed"} {
		if err := os.Chmod(filepath.Join(dir, p), 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(filepath.Join(dir, p), 0o755)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f := collect(t, Directory{Path: dir})
	runtime.ReadMemStats(&after)
	if err := f.failed["file:d/big.txt"]; !errors.Is(err, ingest.ErrTooLarge) || !strings.Contains(err.Error(), "209715200 bytes, the limit is 67108864") {
		t.Errorf("big file: %v", err)
	}
	if read := after.TotalAlloc - before.TotalAlloc; read > 8<<20 {
		t.Errorf("%d bytes were allocated for a file that is not to be read", read)
	}
	if os.Geteuid() == 0 {
		t.Log("permissions mean nothing to root: they are tested as another user alone")
		return
	}
	if got := f.uris(); !slices.Equal(got, []string{"file:d/good.md"}) || len(f.failed) != 3 {
		t.Errorf("read %q, failed %v", got, f.failed)
	}
	for _, uri := range []string{"file:d/closed.md", "file:d/closed"} {
		if err := f.failed[uri]; !errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestWhatIsNoFileIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	write(t, filepath.Join(dir, "a.md"), "text")
	pipe := filepath.Join(dir, "pipe.md")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, Directory{Path: dir}).uris(); !slices.Equal(got, []string{"file:d/a.md"}) {
		t.Errorf("a pipe in a folder: %q", got)
	}
	for path, kind := range map[string]string{pipe: "pipe", "/dev/null": "device"} {
		f := collect(t, Directory{Path: path})
		for _, err := range f.failed {
			if !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), kind) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if len(f.failed) != 1 || len(f.raws) != 0 {
			t.Errorf("%s: read %q, failed %v", path, f.uris(), f.failed)
		}
	}
}

func TestMissingPathIsTheSourcesError(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "nothing")
	err := Directory{Path: missing}.Documents(t.Context(), nil, nil)
	if !errors.Is(err, os.ErrNotExist) || strings.Count(err.Error(), "nothing") != 1 {
		t.Errorf("%v", err)
	}
}

func TestFileThatChangesWhileItIsReadFails(t *testing.T) {
	for name, change := range map[string]func(f *os.File) error{
		"grows":   func(f *os.File) error { _, err := f.WriteAt([]byte("more"), 4); return err },
		"shrinks": func(f *os.File) error { return f.Truncate(1) },
		"touched": func(f *os.File) error { return os.Chtimes(f.Name(), time.Unix(5, 0), time.Unix(5, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.md")
			write(t, path, "text")
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			before, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if err := change(f); err != nil {
				t.Fatal(err)
			}
			if _, _, err := (walk{limit: 100}).readOpen(f, before); !errors.Is(err, ErrChanged) {
				t.Errorf("%v, want ErrChanged", err)
			}
		})
	}
}

func TestDeepFoldersEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	deep := filepath.Join(dir, strings.Repeat("a/", maxDepth+5))
	write(t, filepath.Join(deep, "x.md"), "text")
	write(t, filepath.Join(dir, "b.md"), "text")
	f := collect(t, Directory{Path: dir})
	if len(f.raws) != 1 || len(f.failed) != 1 {
		t.Fatalf("read %q, failed %v", f.uris(), f.failed)
	}
	for _, err := range f.failed {
		if !errors.Is(err, ErrDeep) {
			t.Error(err)
		}
	}
}

func TestWalkEndsWithItsContextAndWithEmit(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		write(t, filepath.Join(dir, fmt.Sprint(i), "a.md"), "text")
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	err := Directory{Path: dir}.Documents(ctx, func(ingest.Raw) error {
		if n++; n == 3 {
			cancel(enough)
		}
		return nil
	}, func(uri string, err error) { t.Errorf("%s: %v", uri, err) })
	if !errors.Is(err, enough) || n != 3 {
		t.Errorf("by its context: %d documents, %v", n, err)
	}
	err = Directory{Path: dir}.Documents(t.Context(), func(ingest.Raw) error { return enough }, nil)
	if !errors.Is(err, enough) {
		t.Errorf("by emit: %v", err)
	}
}

// memory is a store that keeps what it gets.
type memory struct{ entries []document.Entry }

func (m *memory) Store(_ context.Context, entries []document.Entry) ([]document.Outcome, error) {
	m.entries = append(m.entries, entries...)
	return make([]document.Outcome, len(entries)), nil
}

func (m *memory) Index(context.Context) error { return nil }

func TestFolderGoesThroughThePipeline(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	write(t, filepath.Join(dir, "a.md"), "# A\n\ntext")
	write(t, filepath.Join(dir, "b.html"), "<title>B</title><p>text of b</p>")
	write(t, filepath.Join(dir, "bad.txt"), "\x00\x01")
	write(t, filepath.Join(dir, "empty.md"), "")
	m := &memory{}
	report, err := ingest.Run(t.Context(), Directory{Path: dir}, m, ingest.Config{}, nil)
	if err != nil || report.Documents != 2 || len(report.Failed) != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	for i, title := range []string{"A", "B"} {
		if got := m.entries[i].Location.Title; got != title {
			t.Errorf("title %q, want %q", got, title)
		}
	}
	for _, f := range report.Failed {
		if !strings.Contains(f.Err.Error(), ": ") || strings.Contains(f.Err.Error(), "\n") {
			t.Errorf("%s: not one clear line: %v", f.URI, f.Err)
		}
	}
}

// Names of files are never paths, and every name gives a URI that reads back.
func TestOddNamesGiveDistinctURIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	names := []string{"a b", "a%20b", "a\nb", "a\x7fb", "a\xffb", "a;b", "a:b", "a?b", "a#b", "a\\b", "…", "-", "~", "a&b", "\"", "'", "<b>", "a+b", "%", "%zz", "C:"}
	for _, n := range names {
		write(t, filepath.Join(dir, n+".md"), n)
	}
	f := collect(t, Directory{Path: dir})
	if len(f.raws) != len(names) || len(f.failed) > 0 {
		t.Fatalf("%d of %d, failed %v", len(f.raws), len(names), f.failed)
	}
	seen := map[string]bool{}
	for _, r := range f.raws {
		u := r.Location.URI
		if seen[u] || strings.ContainsFunc(u, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"<>\`, r) }) {
			t.Errorf("%q is not fit", u)
		}
		seen[u] = true
	}
}
