package pdf_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"arborist/ingest/extract/pdf"
	"arborist/internal/arbtest/pdftest"
)

// parentEnv makes the test program a parent that reads a long file.
const parentEnv = "ARBORIST_TEST_PDF_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		pdf.NewReader(pdftest.Config()).Read(context.Background(), long())
		os.Exit(0)
	}
	pdftest.Main(m)
}

// long is a file that takes seconds.
func long() []byte {
	pages := make([]string, 9000)
	for i := range pages {
		pages[i] = fmt.Sprintf("This is page %d, and it says what pages say.", i)
	}
	return pdftest.File("Long", pages...)
}

// workers lists the processes whose parent is this one.
func workers(t testing.TB, parent int) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("/proc is not here")
	}
	var pids []int
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		_, rest, found := strings.Cut(string(stat), ") ")
		if err != nil || !found {
			continue
		}
		pid, _ := strconv.Atoi(e.Name())
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if fields := strings.Fields(rest); fields[1] == strconv.Itoa(parent) && fields[0] != "Z" && strings.Contains(string(args), "\x00"+pdf.Verb+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// until waits for something that a process of its own does.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// reading is a Read that goes on in the background.
type reading struct {
	doc  pdf.Document
	err  error
	done chan struct{}
}

func read(ctx context.Context, r *pdf.Reader, file []byte) *reading {
	g := &reading{done: make(chan struct{})}
	go func() {
		defer close(g.done)
		g.doc, g.err = r.Read(ctx, file)
	}()
	return g
}

// small demands that a reader reads a file.
func small(t *testing.T, r *pdf.Reader) {
	t.Helper()
	doc, err := r.Read(t.Context(), pdftest.File("", "Some text.", "", "More of it."))
	if err != nil || string(doc.Text) != "Some text.\n\nMore of it." || doc.Title != "Some text." || doc.Pages != 3 {
		t.Errorf("%+v, %v", doc, err)
	}
}

// busy gives the one worker, once it reads.
func busy(t *testing.T, g *reading) int {
	t.Helper()
	var pid int
	until(t, "a worker starts", func() bool {
		pids := workers(t, os.Getpid())
		if len(pids) == 1 {
			pid = pids[0]
		}
		return len(pids) == 1 && openFiles(t, pid) == "0"
	})
	select {
	case <-g.done:
		t.Fatal("it was read before anything could happen to its worker")
	default:
	}
	return pid
}

// openFiles gives how many files a process may open.
func openFiles(t *testing.T, pid int) string {
	t.Helper()
	limits, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	_, rest, _ := strings.Cut(string(limits), "Max open files")
	return strings.Fields(rest + " -")[0]
}

func TestAWorkerThatIsKilledCostsNoFile(t *testing.T) {
	r := pdftest.Reader(t)
	g := read(t.Context(), r, long())
	first := busy(t, g)
	syscall.Kill(first, syscall.SIGKILL)
	<-g.done
	if g.err != nil || g.doc.Pages != 9000 {
		t.Errorf("%d pages, %v", g.doc.Pages, g.err)
	}
	if pids := workers(t, os.Getpid()); len(pids) != 1 || pids[0] == first {
		t.Errorf("workers %v, the first was %d", pids, first)
	}
}

func TestAFileWhoseWorkerDiesTwiceIsAnErrorAndTheNextIsRead(t *testing.T) {
	r := pdftest.Reader(t)
	g := read(t.Context(), r, long())
	first := busy(t, g)
	syscall.Kill(first, syscall.SIGKILL)
	until(t, "another worker starts", func() bool { p := workers(t, os.Getpid()); return len(p) == 1 && p[0] != first })
	syscall.Kill(busy(t, g), syscall.SIGKILL)
	<-g.done
	if !errors.Is(g.err, pdf.ErrLimit) || !strings.Contains(g.err.Error(), "killed") {
		t.Errorf("%v", g.err)
	}
	small(t, r)
}

func TestAWorkerThatHangsIsEnded(t *testing.T) {
	cfg := pdftest.Config()
	cfg.Limits.Silence = 5 * time.Second
	r := pdf.NewReader(cfg)
	defer r.Close()
	small(t, r)
	pid := workers(t, os.Getpid())[0]
	syscall.Kill(pid, syscall.SIGSTOP)
	if _, err := r.Read(t.Context(), pdftest.File("", "Text.")); !errors.Is(err, pdf.ErrLimit) || !strings.Contains(err.Error(), "5s") {
		t.Errorf("%v", err)
	}
	small(t, r)
}

func TestAPageThatTakesTooLongIsEnded(t *testing.T) {
	bad := files(t, "bad/")
	cfg := pdftest.Config()
	cfg.Limits.Page = 200 * time.Millisecond // of the processor; it takes ten times that
	r := pdf.NewReader(cfg)
	defer r.Close()
	if _, err := r.Read(t.Context(), bad["text_3M_ops"]); !errors.Is(err, pdf.ErrLimit) || !strings.Contains(err.Error(), "200ms") {
		t.Errorf("%v", err)
	}
	small(t, r)
}

func TestACancelledReadEndsItsWorker(t *testing.T) {
	r := pdftest.Reader(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	g := read(ctx, r, long())
	busy(t, g)
	enough := errors.New("enough")
	cancel(enough)
	<-g.done
	if !errors.Is(g.err, enough) || len(workers(t, os.Getpid())) != 0 {
		t.Errorf("%v, workers %v", g.err, workers(t, os.Getpid()))
	}
	if _, err := r.Read(ctx, long()); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}

func TestAnIdleWorkerEnds(t *testing.T) {
	cfg := pdftest.Config()
	cfg.Idle = time.Millisecond
	r := pdf.NewReader(cfg)
	defer r.Close()
	for range 3 {
		small(t, r)
		until(t, "the worker ends", func() bool { return len(workers(t, os.Getpid())) == 0 })
	}
}

func TestNoMoreWorkersRunThanAllowed(t *testing.T) {
	cfg := pdftest.Config()
	cfg.Workers = 2
	r := pdf.NewReader(cfg)
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() { small(t, r) })
	}
	all.Wait()
	if n := len(workers(t, os.Getpid())); n < 1 || n > 2 {
		t.Errorf("%d workers", n)
	}
	r.Close()
	if pids := workers(t, os.Getpid()); len(pids) != 0 {
		t.Errorf("after Close: %v", pids)
	}
	if _, err := r.Read(t.Context(), long()); !errors.Is(err, pdf.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestAWorkerHasNoWayOut(t *testing.T) {
	t.Setenv("SECRET", "in the environment")
	r := pdftest.Reader(t)
	small(t, r)
	pid := workers(t, os.Getpid())[0]
	proc := fmt.Sprintf("/proc/%d/", pid)
	if env, err := os.ReadFile(proc + "environ"); err != nil || len(env) != 0 {
		t.Errorf("its environment is %q, %v", env, err)
	}
	if n := openFiles(t, pid); n != "0" {
		t.Errorf("it may open %s files", n)
	}
	fds, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink(proc + "fd/" + fd.Name())
		// Go's runtime looks after its share of the processors.
		if !strings.HasPrefix(to, "pipe:") && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/sys/fs/cgroup/") && to != os.DevNull {
			t.Errorf("it has %s open", to)
		}
	}
	if group, err := syscall.Getpgid(pid); err != nil || group == syscall.Getpgrp() {
		t.Errorf("Ctrl-C reaches it: group %d, %v", group, err)
	}
}

func TestNoWorkerOutlivesItsParent(t *testing.T) {
	parent := exec.Command("/proc/self/exe")
	parent.Env = append(os.Environ(), parentEnv+"=1")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	until(t, "a worker starts", func() bool {
		pids = workers(t, parent.Process.Pid)
		return len(pids) == 1 && openFiles(t, pids[0]) == "0"
	})
	parent.Process.Kill()
	parent.Wait()
	until(t, "the worker ends", func() bool { return syscall.Kill(pids[0], 0) != nil })
}

// Where the kernel does not end it, the end of its stdin does.
func TestAWorkerEndsWithItsInput(t *testing.T) {
	c := pdftest.Config()
	worker := exec.Command(c.Command.Path, append(c.Command.Args[1:], c.Cache)...)
	in, err := worker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	if err := pdf.WriteRequest(in, long()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('5'); err != nil { // some pages have come
		t.Fatal(err)
	}
	go io.Copy(io.Discard, lines)
	in.Close()
	if err := worker.Wait(); err != nil {
		t.Error(err)
	}
}

// ownMemory gives how many bytes a process holds that are not files'.
func ownMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	kib, _ := strconv.ParseInt(strings.Fields(rest + " -")[0], 10, 64)
	return kib << 10
}

func TestAProgramThatIsNoWorkerIsNamed(t *testing.T) {
	for name, path := range map[string]string{"not there": "/nowhere", "says nothing": "/bin/true", "says something else": "/bin/echo"} {
		cfg := pdftest.Config()
		cfg.Command = pdf.Command{Path: path, Args: []string{"x", strings.Repeat("y", 100)}}
		r := pdf.NewReader(cfg)
		if _, err := r.Read(t.Context(), pdftest.File("", "Text.")); !errors.Is(err, pdf.ErrWorker) {
			t.Errorf("%s: %v", name, err)
		}
		r.Close()
	}
}

func TestDamagedCompiledCodeIsMadeAnew(t *testing.T) {
	small(t, pdftest.Reader(t)) // compiles, where no test has before
	cfg := pdftest.Config()
	cache := filepath.Join(t.TempDir(), "cache")
	if err := os.CopyFS(cache, os.DirFS(cfg.Cache)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	compiled, _ := filepath.Glob(cache + "/*/*")
	for _, path := range compiled {
		code, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code[len(code)/2] ^= 1
		if err := os.WriteFile(path, code, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Cache = cache
	r := pdf.NewReader(cfg)
	defer r.Close()
	small(t, r)
	for _, pid := range workers(t, os.Getpid()) {
		// Compiling takes 300 MB more, which a worker of a small machine must not keep.
		if own := ownMemory(t, pid); own == 0 || own > 128<<20 && !underRace {
			t.Errorf("a worker that has compiled keeps %d bytes", own)
		}
	}
	again, _ := filepath.Glob(cache + "/*/*")
	if len(compiled) == 0 || len(again) != 1 {
		t.Fatalf("%q became %q", compiled, again)
	}
	code, err := os.ReadFile(again[0])
	if err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(filepath.Join(pdftest.Config().Cache, strings.TrimPrefix(again[0], cache)))
	if err != nil || !bytes.Equal(code, sound) {
		t.Errorf("the code is not what it was, %v", err)
	}
}
