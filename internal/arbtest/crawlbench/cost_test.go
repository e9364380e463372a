package crawlbench

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A cost is what processes took.
type cost struct {
	runs int
	cpu  time.Duration
	rss  int64 // KiB, the most at a time
}

func (c *cost) add(more cost) {
	c.runs += more.runs
	c.cpu += more.cpu
	c.rss = max(c.rss, more.rss)
}

func (c cost) against(other cost) float64 { return c.cpu.Seconds() / other.cpu.Seconds() }

// report gives what a crawl of so many pages took.
func (c cost) report(b *testing.B, pages int) {
	b.ReportMetric(0, "ns/op") // the wall's time says nothing here
	b.ReportMetric(float64(pages), "pages")
	b.ReportMetric(float64(c.cpu.Microseconds())/float64(c.runs*pages), "µs-cpu/page")
	b.ReportMetric(float64(c.rss)/1024, "MiB-peak")
}

// run runs a process to its end, in a folder of its own.
func run(b *testing.B, cmd *exec.Cmd) cost {
	b.Helper()
	cmd.Dir = b.TempDir()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	// wget2 ends with 8 where some page was an error.
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 8 {
		b.Fatalf("%s: %v\n%.2000s", cmd.Path, err, stderr.String())
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return cost{runs: 1, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), rss: usage.Maxrss}
}

// get gets the pages at these paths of a site with nothing but the standard
// library's client. The cost is that of this process, without memory.
func get(b *testing.B, base string, paths []string) cost {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	before := processorTime(b)
	for _, p := range paths {
		resp, err := client.Get(strings.TrimSuffix(base, "/") + p)
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if resp.Body.Close(); err != nil {
			b.Fatal(err)
		}
	}
	return cost{runs: 1, cpu: processorTime(b) - before}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// tool gives the path of a program and skips the benchmark where there is none.
func tool(b *testing.B, name string) string {
	b.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		b.Skipf("%s is not installed", name)
	}
	return path
}
