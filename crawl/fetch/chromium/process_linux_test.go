package chromium

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"arborist/crawl/fetch"
)

func shell(script string) fetch.Shell {
	return fetch.Shell{
		URL: "http://example.org/", ContentType: "text/html", Body: []byte("<p>text</p><script>" + script + "</script>"),
		Parts: func(context.Context, string) error { return errors.New("nothing") },
	}
}

func chromiumOrSkip(t *testing.T, cfg Config) *Browser {
	t.Helper()
	b, err := New(cfg)
	if err != nil {
		if os.Getenv("ARBORIST_NEED_CHROMIUM") != "" {
			t.Fatal(err)
		}
		t.Skipf("needs Chromium: %v", err)
	}
	return b
}

// shortTemp returns a folder whose name is short enough for a browser's folder in it.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Nothing of the browser outlives it, whatever ended it; one that was
// killed is replaced.
func TestBrowserIsGoneWhenItEnds(t *testing.T) {
	tmp := shortTemp(t)
	t.Setenv("TMPDIR", tmp)
	b := chromiumOrSkip(t, Config{Memory: 1, Timeout: 2 * time.Minute})
	_, err := b.Render(t.Context(), shell("for (;;) {}"))
	if !errors.Is(err, ErrMemory) {
		t.Errorf("over its memory limit: %v", err)
	}
	b.mu.Lock()
	proc, killed := b.proc, b.proc.group
	b.mu.Unlock()
	<-proc.gone
	if left := members(killed); killed == 0 || len(left) > 0 {
		t.Errorf("group %d, processes %v are left of a browser that was killed", killed, left)
	}

	b.cfg.Memory = 8 << 30
	if html, err := b.Render(t.Context(), shell("document.body.append('written')")); err != nil || !strings.Contains(string(html), "written") {
		t.Errorf("the next page: %s, %v", html, err)
	}
	b.mu.Lock()
	group, folder := b.proc.group, b.proc.folder
	b.mu.Unlock()
	if sockets, _ := filepath.Glob(filepath.Join(folder, "*.*.*", "SingletonSocket")); len(sockets) != 1 { // org.chromium.Chromium.*
		t.Errorf("the browser's temporary files %v are not in its folder", sockets)
	}
	if group == killed || len(members(group)) < 2 {
		t.Errorf("group %d of %v has processes %v", group, killed, members(group))
	}
	// A page that is being rendered does not hold Close up.
	failed := make(chan error, 1)
	go func() {
		_, err := b.Render(t.Context(), shell("for (;;) {}"))
		failed <- err
	}()
	time.Sleep(200 * time.Millisecond)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("a page was rendered by a closed browser")
	}
	if left := members(group); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := b.Render(t.Context(), shell("")); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("%v is left among the temporary files, %v", left, err)
	}
}

// A name of the temporary folder that leaves no room for Chromium's socket must not
// keep it from starting.
func TestBrowserStartsWhereTheTemporaryFolderHasALongName(t *testing.T) {
	tmp := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	b := chromiumOrSkip(t, Config{})
	defer b.Close()
	if html, err := b.Render(t.Context(), shell("document.body.append('written')")); err != nil || !strings.Contains(string(html), "written") {
		t.Errorf("%s, %v", html, err)
	}
}

func TestPageOverItsTimeIsNotRendered(t *testing.T) {
	b := chromiumOrSkip(t, Config{Timeout: time.Millisecond})
	defer b.Close()
	f := fetch.NewRendered(still{}, b, true, nil)
	_, err := f.Fetch(t.Context(), fetch.Request{URL: "http://example.org/"})
	if fetch.ClassOf(err) != fetch.RenderFailed || !errors.Is(err, errTimeout) {
		t.Errorf("%v with class %q", err, fetch.ClassOf(err))
	}
}

// still answers every request with the same page.
type still struct{}

func (still) Fetch(_ context.Context, req fetch.Request) (fetch.Response, error) {
	return fetch.Response{URL: req.URL, Status: 200, ContentType: "text/html", Body: []byte("<p>text</p>")}, nil
}

// A daemon that is killed takes its browser with it.
func TestBrowserDiesWithUs(t *testing.T) {
	if os.Getenv("CHROMIUM_TEST_CHILD") != "" {
		child(t)
		return
	}
	chromiumOrSkip(t, Config{}).Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBrowserDiesWithUs$")
	cmd.Env = append(os.Environ(), "CHROMIUM_TEST_CHILD=1", "TMPDIR="+shortTemp(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	group, _ := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || group == 0 || len(members(group)) < 2 {
		t.Fatalf("child says %q, %v; processes %v", line, err, members(group))
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	for start := time.Now(); len(members(group)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			killGroup(group)
			t.Fatalf("processes %v outlived us", members(group))
		}
	}
}

// child starts a browser, says its process group and waits to be killed.
func child(t *testing.T) {
	b, err := New(Config{Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Render(t.Context(), shell("")); err != nil {
		t.Fatal(err)
	}
	fmt.Println(b.proc.group)
	time.Sleep(5 * time.Minute)
}
