package crash_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/internal/arbtest/crash"
)

// imagesVariable is how many images TestPowerCut… rebuilds; make crash sets
// it. seedVariable chooses others.
const (
	imagesVariable = "ARBORIST_CRASH_IMAGES"
	seedVariable   = "ARBORIST_CRASH_SEED"
	// traceVariable and imageVariable rebuild one image of a kept recording.
	traceVariable = "ARBORIST_CRASH_TRACE"
	imageVariable = "ARBORIST_CRASH_IMAGE"
)

// scratch is a folder in memory, where there is one: images are many and their
// syncs are for nothing.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "arborist-crash-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// record runs work below strace. It returns the trace as well.
func record(t testing.TB, s schedule, inject ...string) (log *crash.Log, trace string) {
	t.Helper()
	if err := crash.Available(); err != nil {
		t.Skip(err)
	}
	dir := scratch(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder, acks := filepath.Join(dir, "folder"), filepath.Join(dir, "acks")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), workVariable+"="+strings.Join([]string{folder, acks, s.String()}, "|"))
	trace = filepath.Join(dir, "trace")
	log, err = crash.Record(crash.Run{Cmd: cmd, Folder: folder, Acks: acks, Trace: trace, Inject: inject})
	if err != nil {
		t.Fatal(err)
	}
	return log, trace
}

// A count is what became of images.
type count struct {
	images, lost, torn, refused int
	faults                      []string // of the first ones
	modes                       map[crash.Mode]int
}

func (c count) String() string {
	return fmt.Sprintf("%d images: %d torn, %d acknowledged lost, %d refuse more", c.images, c.torn, c.lost, c.refused)
}

// replay rebuilds and checks n images of a log, fewer where enough says so.
func replay(t testing.TB, log *crash.Log, n int, seed uint64, enough func(count) bool) count {
	t.Helper()
	plan, err := crash.NewPlan(log)
	if err != nil {
		t.Fatal(err)
	}
	type job struct {
		spec  crash.Spec
		image *crash.Image
	}
	jobs := make(chan job)
	sum := count{modes: map[crash.Mode]int{}}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		dir := scratch(t)
		wait.Go(func() {
			for j := range jobs {
				err := checkOne(dir, log, j.spec, j.image)
				mu.Lock()
				sum.add(j.spec, err)
				mu.Unlock()
			}
		})
	}
	plan.Choose(n, seed, func(s crash.Spec, image *crash.Image) bool {
		jobs <- job{s, image}
		mu.Lock()
		defer mu.Unlock()
		return enough == nil || !enough(sum)
	})
	close(jobs)
	wait.Wait()
	return sum
}

func checkOne(dir string, log *crash.Log, s crash.Spec, image *crash.Image) error {
	folder, err := os.MkdirTemp(dir, "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := image.WriteTo(folder); err != nil {
		return err
	}
	return checkImage(context.Background(), folder, log.Acks(s.Cut))
}

func (c *count) add(s crash.Spec, err error) {
	c.images++
	c.modes[s.Mode]++
	switch {
	case err == nil:
		return
	case errors.Is(err, errLost):
		c.lost++
	case errors.Is(err, errTorn):
		c.torn++
	default:
		c.refused++
	}
	if len(c.faults) < 10 {
		c.faults = append(c.faults, fmt.Sprintf("image %s: %v", s, err))
	}
}

// keep saves a recording, so that one image of it can be rebuilt.
func keep(t testing.TB, trace string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "arborist-crash-kept-")
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "trace")
	b, err := os.ReadFile(trace)
	if err == nil {
		err = os.WriteFile(kept, b, 0o600)
	}
	if err == nil {
		err = os.WriteFile(kept+".folder", []byte(filepath.Dir(trace)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("one image again: %s=%s %s=SPEC go test -tags sqlite_fts5 -run TestOneImageAgain -v ./internal/arbtest/crash", traceVariable, kept, imageVariable)
}

func number(t testing.TB, variable string, fallback int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestPowerCutLosesNothingAcknowledged is the promise of threat 33: after a
// power cut at any time, whatever a disk has made of what was not synced, all
// that was acknowledged is there and nothing is torn.
func TestPowerCutLosesNothingAcknowledged(t *testing.T) {
	n := number(t, imagesVariable, 0)
	s := schedule{Shards: 2, Rounds: 8, Reopens: 2}
	if n == 0 {
		n, s = 80, schedule{Shards: 2, Rounds: 3, Reopens: 1}
	}
	seed := number(t, seedVariable, 1)
	start := time.Now()
	log, trace := record(t, s)
	recorded := time.Since(start)
	sum := replay(t, log, n, uint64(seed), nil)
	t.Logf("%v; seed %d, %d ops and %d acknowledgements recorded in %v, replayed in %v; by mode %v", sum, seed,
		len(log.Ops), len(log.Acks(len(log.Ops))), recorded.Round(time.Millisecond), (time.Since(start) - recorded).Round(time.Millisecond), sum.modes)
	if sum.images < n {
		t.Errorf("the recording has only %d images", sum.images)
	}
	for _, f := range sum.faults {
		t.Error(f)
	}
	if len(sum.faults) > 0 {
		keep(t, trace)
	}
}

// TestOneImageAgain rebuilds one image of a kept recording; the log line of a
// failure says how.
func TestOneImageAgain(t *testing.T) {
	trace := os.Getenv(traceVariable)
	if trace == "" {
		t.Skip(traceVariable + " names no recording")
	}
	base, err := os.ReadFile(trace + ".folder")
	if err != nil {
		t.Fatal(err)
	}
	log, err := crash.Read(trace, filepath.Join(string(base), "folder"), filepath.Join(string(base), "acks"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := crash.ParseSpec(os.Getenv(imageVariable))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := crash.NewPlan(log)
	if err != nil {
		t.Fatal(err)
	}
	for i := max(0, s.Cut-number(t, "ARBORIST_CRASH_OPS", 30)); i < s.Cut; i++ {
		t.Logf("%6d %v", i, log.Ops[i])
	}
	for i, u := range plan.Uncertain(s.Cut) {
		t.Logf("uncertain %d: %v", i, u)
	}
	dir := t.TempDir()
	if err := plan.Build(s).WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		t.Logf("%10d %s", info.Size(), strings.TrimPrefix(p, dir))
		return nil
	})
	if err := checkImage(t.Context(), dir, log.Acks(s.Cut)); err != nil {
		t.Error(err)
	}
}
