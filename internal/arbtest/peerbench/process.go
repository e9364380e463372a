package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a daemon under measurement.
type process struct {
	cmd   *exec.Cmd
	lines []string // that it wrote before it was ready
	ready time.Duration
}

// start starts a daemon and waits for the line that begins with word.
func (b *bench) start(environ []string, word, program string, args ...string) (*process, error) {
	cmd := exec.CommandContext(b.ctx, program, args...)
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd}
	b.started = append(b.started, p)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		p.lines = append(p.lines, lines.Text())
		if strings.Contains(lines.Text(), word) {
			p.ready = time.Since(began)
			go io.Copy(io.Discard, out)
			return p, nil
		}
	}
	p.stop()
	return nil, fmt.Errorf("%s %q ended without %q: %q", program, args, word, p.lines)
}

// stop ends the daemon, unless it was stopped before.
func (p *process) stop() {
	if p.cmd.ProcessState != nil {
		return
	}
	p.cmd.Process.Signal(syscall.SIGINT)
	p.cmd.Wait()
}

// cpu returns the processor time that it has taken.
func (p *process) cpu() time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// Behind the name, which may hold anything: fields 3 and on of proc(5).
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100
}

// rss returns how much memory it holds, in bytes.
func (p *process) rss() int64 { return p.memory("VmRSS:") }

// own returns how much of it is its own: not the pages of its program and libraries, of
// which more or fewer are mapped as they lie in the page cache.
func (p *process) own() int64 { return p.memory("RssAnon:") }

// forgetPeak has peak count from now on.
func (p *process) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0)
}

// peak returns the most that it has held.
func (p *process) peak() int64 { return p.memory("VmHWM:") }

func (p *process) memory(field string) int64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// installed copies a program into a folder and has the system forget what it keeps of
// the file, so that it is read from the disk as after a start of the machine. What a
// linker has just written lies in the page cache in pieces of 2 MiB, which are mapped
// whole: 12 MiB more of our program.
func installed(dir, program string) (path string, err error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, filepath.Base(program))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	return path, errors.Join(err, f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
}

// output runs a command to its end.
func output(ctx context.Context, environ []string, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), environ...)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, problem.String())
	}
	return out, nil
}
