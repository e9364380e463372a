package peer

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/document"
)

// serverOf serves a node's resources over HTTP, each through change.
func serverOf(t testing.TB, n *node, change func(path string, body []byte) []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding") // what is changed is the text
		rec := httptest.NewRecorder()
		n.peer.Handler().ServeHTTP(rec, r)
		w.WriteHeader(rec.Code)
		w.Write(change(strings.TrimPrefix(r.URL.Path, PathPrefix+n.origin("main")+"/"), rec.Body.Bytes()))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func asItIs(_ string, body []byte) []byte { return body }

func TestASourceThatLiesEndsItselfAlone(t *testing.T) {
	a := newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 700, 150)...)
	honest := serverOf(t, a, asItIs)
	for name, at := range map[string]struct {
		prefix string
		want   error
	}{
		"a record":     {"tile/entries/", ErrTampered},
		"a tile":       {"tile/0/", ErrTampered},
		"a text":       {"pack/", ErrTampered},
		"the head":     {"checkpoint", nil},
		"the key":      {"key", nil},
		"half a pack":  {"pack/", ErrTruncated},
		"no statement": {"key", nil},
	} {
		t.Run(name, func(t *testing.T) {
			liar := serverOf(t, a, func(path string, body []byte) []byte {
				switch {
				case !strings.HasPrefix(path, at.prefix):
					return body
				case name == "half a pack":
					return body[:len(body)/2]
				case name == "no statement":
					return nil
				}
				body[len(body)-40] ^= 1
				return body
			})
			b := newNode(t).up(nil)
			res, err := b.peer.SyncFrom(t.Context(), SyncRequest{From: []string{liar, honest}, Corpus: a.origin("main")})
			if err != nil || res.Documents != 700 {
				t.Fatalf("sync = %+v, %v", res, err)
			}
			// Whether it is asked for what it lies about is a matter of who is
			// faster; what it says of documents, it has to be asked for.
			use := res.Sources[0]
			if use.Err != nil && at.want != nil && !errors.Is(use.Err, at.want) {
				t.Errorf("the liar was left with %v, want %v", use.Err, at.want)
			}
			if use.Err == nil && use.Bytes > 0 && at.prefix == "pack/" {
				t.Errorf("the liar gave %d bytes of documents and is not blamed", use.Bytes)
			}
			if use := res.Sources[1]; use.Err != nil || use.Bytes == 0 {
				t.Errorf("the honest source: %+v", use)
			}
			sameCorpus(t, a, b, "main")
		})
	}
}

func TestASourceThatLagsServesWhatItHas(t *testing.T) {
	a, late, b := newNode(t).up(nil), newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 600, 150)...)
	url := serverOf(t, a, asItIs)
	late.sync(url, a.origin("main"))
	a.publish("main", entriesOf(t, "doc:/y", 300, 150)...)
	lagging := httptest.NewServer(late.peer.Handler())
	defer lagging.Close()
	res, err := b.peer.SyncFrom(t.Context(), SyncRequest{From: []string{lagging.URL, url}, Corpus: a.origin("main")})
	if err != nil || res.Size != 900 {
		t.Fatalf("sync = %+v, %v", res, err)
	}
	for _, use := range res.Sources {
		if use.Err != nil {
			t.Errorf("%s was given up: %v", use.Source, use.Err)
		}
	}
	sameCorpus(t, a, b, "main")
}

func TestASyncFailsWithItsLastSource(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 300, 150)...)
	liar := func() string {
		return serverOf(t, a, func(path string, body []byte) []byte {
			if strings.HasPrefix(path, "pack/") {
				body[len(body)-1] ^= 1
			}
			return body
		})
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	res, err := b.peer.SyncFrom(t.Context(), SyncRequest{From: []string{gone.URL, liar(), liar()}, Corpus: a.origin("main")})
	if !errors.Is(err, ErrTampered) {
		t.Fatalf("error = %v, want ErrTampered", err)
	}
	for _, use := range res.Sources {
		if use.Err == nil {
			t.Errorf("%s is still in use", use.Source)
		}
	}
	if b.size(a.origin("main")) != 0 {
		t.Error("the log moved")
	}
	if _, err := b.peer.SyncFrom(t.Context(), SyncRequest{From: make([]string, maxSources+1), Corpus: "main"}); !errors.Is(err, ErrAddress) {
		t.Errorf("too many sources = %v, want ErrAddress", err)
	}
}

func TestTheFastSourceIsAskedMost(t *testing.T) {
	slow, fast := &member{source: new(source)}, &member{source: new(source)}
	p := &pool{members: []*member{slow, fast}}
	if p.pick(nil) != slow || p.pick(nil) != fast {
		t.Fatal("sources that are not known yet are not asked in turn")
	}
	slow.pace.saw(1<<20, 10*time.Second)
	fast.pace.saw(1<<20, time.Second)
	asked := make(map[*member]int)
	for range 22 {
		asked[p.pick(nil)]++
	}
	if asked[slow] > 3 || asked[fast] < 19 {
		t.Errorf("of 22, the slow one was asked for %d and the fast one for %d", asked[slow], asked[fast])
	}
	if !slow.hurry.Load() && !fast.hurry.Load() {
		t.Error("neither has to hurry")
	}
	p.fault(slow.source, ErrTooSlow)
	if p.pick(nil) != fast || fast.hurry.Load() || p.pick(map[*member]bool{fast: true}) != nil {
		t.Error("the last source is not what is left, with all the time that there is")
	}
}

func TestASourceThatOthersStandInForHasLessTime(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begin")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, func(t *testing.T, p *pipes) {
		src := sourceOver(p)
		defer src.close()
		src.hurry.Store(true)
		start := time.Now()
		if _, err := src.get(t.Context(), anything, 1<<20); !errors.Is(err, ErrTooSlow) {
			t.Errorf("error = %v, want ErrTooSlow", err)
		}
		if d := time.Since(start); d != hurryTime {
			t.Errorf("gave up after %s, want %s", d, hurryTime)
		}
	})
}

func TestALimitOfBytesIsKeptAndNobodyIsBlamed(t *testing.T) {
	const size, perSecond = 4 << 20, 32 << 10 // above what a source would be given
	inBubble(t, func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, size)) }, func(t *testing.T, p *pipes) {
		src := sourceOver(p)
		defer src.close()
		src.limit = newLimit(perSecond)
		start := time.Now()
		if _, err := src.get(t.Context(), anything, size); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d < size/perSecond*time.Second*9/10 || d > size/perSecond*time.Second*11/10 {
			t.Errorf("%d bytes at %d a second took %s", size, perSecond, d)
		}
	})
}

// folderOf writes a corpus as files, without documents by root.
func folderOf(t *testing.T, n *node, entries []document.Entry) (dir string) {
	t.Helper()
	var lines [][]byte
	texts := make(map[document.Root][]byte)
	for _, e := range entries {
		lines = append(lines, lineOf(t, recordOf(e, document.ID{})))
		texts[e.Document.Root()] = e.Document.Text()
	}
	dir = t.TempDir()
	for path, content := range publishFiles(t, n, lines, texts) {
		if strings.Contains(path, "/doc/") {
			continue
		}
		file := filepath.Join(dir, filepath.FromSlash(PathPrefix+path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAFolderIsASource(t *testing.T) {
	a := newNode(t)
	entries := entriesOf(t, "doc:/x", 520, 150)
	dir := folderOf(t, a, entries)
	b := newNode(t).up(nil)
	if res := b.sync("file:"+dir, a.origin("main")); res.Documents != 520 {
		t.Errorf("sync = %+v", res)
	}
	// Where most of a bundle is here, the rest is read out of its pack.
	c := newNode(t).up(nil)
	c.publish("mine", entries[:250]...)
	res := c.sync("file://"+filepath.Join(dir, PathPrefix), a.origin("main"))
	if res.Documents != 270 || res.Resumed != 250 || res.Verified != 270 {
		t.Errorf("sync of what is missing = %+v", res)
	}
}

func TestAServerWithoutRangesIsReadUpToThere(t *testing.T) {
	a := newNode(t)
	entries := entriesOf(t, "doc:/x", 256, 150)
	dir := folderOf(t, a, entries)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		http.FileServer(http.Dir(dir)).ServeHTTP(w, r)
	}))
	defer server.Close()
	c := newNode(t).up(nil)
	c.publish("mine", entries[:250]...)
	if res := c.sync(server.URL, a.origin("main")); res.Documents != 6 {
		t.Errorf("sync = %+v", res)
	}
}

func TestAFolderGivesNothingFromOutside(t *testing.T) {
	a, b := newNode(t), newNode(t).up(nil)
	dir := folderOf(t, a, entriesOf(t, "doc:/x", 3, 150))
	tree := filepath.Join(dir, filepath.FromSlash(PathPrefix), filepath.FromSlash(a.origin("main")))
	outside := filepath.Join(t.TempDir(), "checkpoint")
	if err := os.Rename(filepath.Join(tree, "checkpoint"), outside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(tree, "checkpoint")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.peer.Sync(t.Context(), "file:"+dir, a.origin("main"), nil); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a link out of the folder = %v, want ErrUnavailable", err)
	}
	for _, bad := range []string{"file:", "file:relative", "file:" + filepath.Join(dir, "nowhere"), "file:" + outside} {
		if _, err := b.peer.Sync(t.Context(), bad, a.origin("main"), nil); !errors.Is(err, ErrAddress) {
			t.Errorf("sync %s = %v, want ErrAddress", bad, err)
		}
	}
}

// Published trees need not have single documents: what one of them sent wrongly is in
// the packs of the others.
func TestATreeThatLiesEndsItselfAlone(t *testing.T) {
	a := newNode(t)
	dir := folderOf(t, a, entriesOf(t, "doc:/x", 700, 150))
	files := http.FileServer(http.Dir(dir))
	liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/pack/") {
			files.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		r.Header.Del("Range")
		files.ServeHTTP(rec, r)
		body := rec.Body.Bytes()
		body[len(body)/2] ^= 1
		w.Write(body)
	}))
	defer liar.Close()
	for _, from := range [][]string{{liar.URL, "file:" + dir}, {"file:" + dir, liar.URL}} {
		b := newNode(t).up(nil)
		res, err := b.peer.SyncFrom(t.Context(), SyncRequest{From: from, Corpus: a.origin("main")})
		if err != nil || res.Documents != 700 || b.documents() != 700 {
			t.Errorf("sync from %q = %+v, %v", from, res, err)
		}
	}
}
