package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// build builds the program as it is shipped and returns its path.
func build(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "arborist-verify")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func TestProgramIsSmallAndStartsFast(t *testing.T) {
	program := build(t)
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 6_000_000 {
		t.Errorf("%d bytes, at most 6,000,000", info.Size())
	}
	// What other programs do to the clock is not this one's start: its own
	// processor time is what is bounded here, BenchmarkStart has the clock's.
	best := time.Hour
	for range 10 {
		cmd := exec.Command(program, "--help")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		best = min(best, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	t.Logf("%d bytes, least processor time of ten starts %v", info.Size(), best)
	if best > 20*time.Millisecond {
		t.Errorf("a start takes %v of processor time, at most 20 ms", best)
	}
	var exit *exec.ExitError
	if err := exec.Command(program, "--json").Run(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("without arguments: %v, want exit code 2", err)
	}
}

// BenchmarkStart is the time from the call to the exit of a program that has
// nothing to check.
func BenchmarkStart(b *testing.B) {
	program := build(b)
	for b.Loop() {
		if err := exec.Command(program, "--help").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// What checks proofs can neither call home nor open a store.
func TestProgramLinksNeitherNetworkNorStore(t *testing.T) {
	for _, cgo := range []string{"0", "1"} {
		cmd := exec.Command("go", "list", "-deps", ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		deps := strings.Fields(string(out))
		for _, banned := range []string{"net", "net/http", "runtime/cgo", "C", "database/sql", "os/exec", "plugin"} {
			if slices.Contains(deps, banned) {
				t.Errorf("CGO_ENABLED=%s: it links %s", cgo, banned)
			}
		}
		for _, dep := range deps {
			if strings.HasPrefix(dep, "arborist/") && !slices.Contains([]string{
				"arborist/cmd/arborist-verify", "arborist/proof/report", "arborist/proof", "arborist/document", "arborist/merkle",
			}, dep) {
				t.Errorf("CGO_ENABLED=%s: it links %s", cgo, dep)
			}
			// The one library beneath is Unicode normalisation.
			if strings.Contains(strings.Split(dep, "/")[0], ".") && !strings.HasPrefix(dep, "golang.org/x/text/") {
				t.Errorf("CGO_ENABLED=%s: it links %s", cgo, dep)
			}
		}
	}
}
