package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"arborist/daemon/api"
	"arborist/document"
)

// aForeignFile makes a shard file that somebody else could have made, of n pages.
func aForeignFile(t *testing.T, n int) string {
	t.Helper()
	home := newHome(t)
	addPages(t, home, "foreign", n)
	path := filepath.Join(t.TempDir(), "foreign.db")
	b, err := os.ReadFile(filepath.Join(home.Shards(), "00.db"))
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A file that is given with --include-shard and is not one fails the query with its
// name and a next step.
func TestAnIncludedFileThatIsNoShardIsNamed(t *testing.T) {
	n := openNode(t, newHome(t))
	whole, err := os.ReadFile(aForeignFile(t, 8))
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) func(string) error {
		return func(p string) error { return os.WriteFile(p, b, 0o600) }
	}
	kind := bytes.Clone(whole)
	kind[70] ^= 1
	for name, c := range map[string]struct {
		make func(path string) error
		code api.Code
	}{
		"no such file":         {func(string) error { return nil }, api.CodeNotFound},
		"zero length":          {write(nil), api.CodeInvalid},
		"cut in its head":      {write(whole[:70]), api.CodeInvalid},
		"cut in its schema":    {write(whole[:3000]), api.CodeInvalid},
		"cut in half":          {write(whole[:len(whole)/2&^4095]), api.CodeInvalid},
		"another application":  {write(kind), api.CodeInvalid},
		"a folder":             {func(p string) error { return os.Mkdir(p, 0o700) }, api.CodeDenied},
		"a pipe":               {func(p string) error { return syscall.Mkfifo(p, 0o600) }, api.CodeDenied},
		"a link":               {func(p string) error { return os.Symlink("/etc/passwd", p) }, api.CodeDenied},
		"10 GB of nothing":     {func(p string) error { return sparse(p, nil, 10<<30) }, api.CodeInvalid},
		"10 GB below its head": {func(p string) error { return sparse(p, whole[:4096], 10<<30) }, api.CodeInvalid},
	} {
		path := filepath.Join(t.TempDir(), "file.db")
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		for _, req := range []api.QueryRequest{{Text: "granite", IncludeShards: []string{path}}, {Text: "granite", DB: path}} {
			_, err := n.Query(t.Context(), req)
			if e := api.AsError(err); err == nil || e.Code != c.code || !strings.Contains(e.Message, path) || e.Hint == "" || strings.Contains(e.Hint, "arborist check") || strings.Contains(e.Hint, "arborist query") {
				t.Errorf("%s: %+v, want %s", name, e, c.code)
			}
		}
	}
}

func sparse(path string, head []byte, size int64) error {
	if err := os.WriteFile(path, head, 0o600); err != nil {
		return err
	}
	return os.Truncate(path, size)
}

// Whatever is wrong inside of an included file, and whatever becomes of it while it
// is searched: the query fails with its name, or leaves it out with its name, or
// shows of it what its hashes prove; the hits of this home stand.
func TestAnIncludedFileThatIsDamagedCostsNoOtherHits(t *testing.T) {
	home := newHome(t)
	addPages(t, home, "own", 3)
	n := openNode(t, home)
	path := aForeignFile(t, 12)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var left, failed, refused int
	query := func(what string) {
		t.Helper()
		res, err := n.Query(t.Context(), api.QueryRequest{Text: "granite", Limit: 100, IncludeShards: []string{path}})
		if err != nil {
			failed++
			if e := api.AsError(err); e.Code != api.CodeInvalid || !strings.Contains(e.Message, path) {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		own := 0
		for _, h := range res.Hits {
			if h.Source == sourceShared {
				own++
			} else if _, err := document.ParseRoot(h.Root.String()); err != nil || h.Proof == "" {
				t.Errorf("%s: a hit without a proof: %+v", what, h)
			}
		}
		if own != 3 {
			t.Errorf("%s: %d hits of this home", what, own)
		}
		if len(res.Refused) > 0 {
			refused++
			if res.Refused[0].URI != path {
				t.Errorf("%s: refused %+v", what, res.Refused)
			}
		} else {
			left++
		}
	}
	for at := 0; at < len(whole); at += 4096 {
		for _, bit := range []int{100, 3, 4000} {
			b := bytes.Clone(whole)
			for i := at + bit; i < min(len(b), at+bit+64); i++ {
				b[i] ^= 0x20
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			query("flipped bits")
		}
	}
	if failed == 0 || left == 0 {
		t.Errorf("%d queries failed, %d left the file out, %d took it", failed, refused, left)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", bytes.Repeat([]byte("x"), 9000), 0o600); err != nil {
		t.Fatal(err)
	}
	before := left
	if query("a log beside it"); left != before+1 {
		t.Error("a log beside it counted")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		other := bytes.Clone(whole)
		for i := 4096; i < len(other); i += 7 {
			other[i] ^= 0xff
		}
		for i := range 200 {
			b := whole
			if i%2 == 0 {
				b = other
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return
			}
			f.WriteAt(b, 0)
			f.Truncate(int64(len(b) - i%3*4096))
			f.Close()
		}
		os.WriteFile(path, whole, 0o600)
	}()
	for range 40 {
		query("a file that changes")
	}
	<-done
	before = left
	if query("the file as it was"); left != before+1 {
		t.Error("the file as it was is not taken")
	}
}
