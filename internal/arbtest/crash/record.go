package crash

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrNoTrace: strace is missing or may not trace here.
var ErrNoTrace = errors.New("programs cannot be traced here")

// calls are the system calls that are recorded. What a program could use
// instead of them is listed as well, and refused when it meets the folder.
const calls = "open,openat,openat2,creat,write,writev,pwrite64,pwritev,pwritev2,lseek,ftruncate,truncate,fallocate," +
	"rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat,symlink,symlinkat," +
	"fsync,fdatasync,sync,syncfs,sync_file_range,sendfile,copy_file_range,mmap,dup,dup2,dup3"

// Available reports, as an error that wraps [ErrNoTrace], why nothing can be
// recorded on this machine.
func Available() error {
	out, err := exec.Command("strace", "-f", "--seccomp-bpf", "-e", "trace=fsync", "-o", os.DevNull, "true").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: strace: %w: %s", ErrNoTrace, err, bytes.TrimSpace(out))
	}
	return nil
}

// A Run is a program to be recorded.
type Run struct {
	Cmd    *exec.Cmd // not started
	Folder string    // absolute, empty; what changes below it is recorded
	Acks   string    // absolute, outside Folder: the program writes a line here when it acknowledges something
	Trace  string    // where the raw recording goes
	// Inject holds faults in strace's words, such as
	// "fdatasync:error=EIO:when=3".
	Inject []string
}

// Record runs the program to its end and returns what it did. A program that
// ends with an error is recorded all the same: the error is then that of the
// program, beside a log.
func Record(r Run) (*Log, error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTrace, err)
	}
	args := []string{strace, "-f", "-y", "-xx", "-s", "16777216", "-o", r.Trace, "-e", "trace=" + calls}
	if len(r.Inject) == 0 {
		args = append(args, "--seccomp-bpf") // only these calls stop the program
	}
	for _, fault := range r.Inject {
		args = append(args, "-e", "inject="+fault)
	}
	r.Cmd.Args = append(append(args, "--", r.Cmd.Path), r.Cmd.Args[1:]...)
	r.Cmd.Path = strace
	var stderr bytes.Buffer
	if r.Cmd.Stderr == nil {
		r.Cmd.Stderr = &stderr
	}
	ran := r.Cmd.Run()
	// strace shows paths without links.
	folder, err := filepath.EvalSymlinks(r.Folder)
	if err != nil {
		return nil, err
	}
	log, err := Read(r.Trace, folder, r.Acks)
	if err != nil {
		return nil, errors.Join(err, ran)
	}
	if ran != nil {
		return log, fmt.Errorf("run recorded program: %w: %s", ran, bytes.TrimSpace(stderr.Bytes()))
	}
	return log, nil
}

// Read reads a raw recording.
func Read(trace, folder, acks string) (*Log, error) {
	f, err := os.Open(trace)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := &parser{folder: folder, acks: acks, open: map[string]int{}, at: map[int]*position{}, size: map[string]int64{}}
	if err := p.parse(f); err != nil {
		return nil, fmt.Errorf("read recording %s: %w", trace, err)
	}
	return &Log{Ops: p.ops}, nil
}
