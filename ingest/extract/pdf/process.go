package pdf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A Command is the program that runs package worker: the cache folder is added
// to its arguments.
type Command struct {
	Path string
	Args []string // the first is what the program is called
}

// Verb is the argument by which a program knows that it is a worker.
const Verb = "pdf-worker"

// Self is this program as a worker. What it is called stays, since programs of
// tests go by it.
func Self() Command {
	c := Command{Path: "/proc/self/exe", Args: []string{os.Args[0], Verb}} // the same program also after an update of its file
	if _, err := os.Stat(c.Path); err != nil {
		c.Path, _ = os.Executable()
	}
	return c
}

// errDied: the worker ended by itself while it was read from.
var errDied = errors.New("the worker ended")

// A process is a running worker.
type process struct {
	cmd   *exec.Cmd
	in    *os.File
	out   *bufio.Reader
	pipe  *os.File // under out
	said  *notes   // on its stderr
	ended chan struct{}

	retire *time.Timer // the reader's, while the process is idle
}

// startTime is how long a worker may take until it is ready. Where PDFium must be
// compiled, that is four seconds of an idle machine.
const startTime = 5 * time.Minute

// startProcess starts a worker and waits until it is ready.
func startProcess(ctx context.Context, c Command, cache string) (*process, error) {
	p := &process{said: &notes{}, ended: make(chan struct{})}
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		ourIn.Close()
		return nil, err
	}
	p.in, p.pipe, p.out = ourIn, ourOut, bufio.NewReader(ourOut)
	p.cmd = &exec.Cmd{
		Path: c.Path, Args: append(append([]string{}, c.Args...), cache), Dir: "/", Env: []string{},
		Stdin: theirIn, Stdout: theirOut, Stderr: p.said, SysProcAttr: apart(),
	}
	err = p.run()
	theirIn.Close()
	theirOut.Close() // from now on its end is the end of what it says
	if err != nil {
		p.close()
		return nil, err
	}
	kind, payload, err := p.listen(ctx)
	if err == nil && (kind != Ready || string(payload) != Protocol) {
		err = fmt.Errorf("%w: it said %q instead of %s", errFrame, payload, Protocol)
	}
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// run starts the process from a thread of its own, which lives as long as the
// process does: the kernel ends a child with the thread that started it.
func (p *process) run() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.cmd.Wait() // how it ended is in cmd.ProcessState
			close(p.ended)
		}
	}()
	return <-started
}

// listen waits for the first frame.
func (p *process) listen(ctx context.Context) (kind byte, payload []byte, err error) {
	w := p.watch(ctx, Limits{Page: startTime, Total: startTime, Silence: startTime})
	kind, payload, err = readFrame(p.out, len(Protocol))
	return kind, payload, w.stop(err)
}

// read has the worker read a file. It returns [ErrFormat] and [ErrEncrypted] for
// a worker that can go on; after any other error the process must be killed.
func (p *process) read(ctx context.Context, limits Limits, file []byte) (Document, error) {
	w := p.watch(ctx, limits)
	var c collected
	err := WriteRequest(p.in, file)
	for err == nil && !c.done {
		var kind byte
		var payload []byte
		if kind, payload, err = readFrame(p.out, MaxText); err == nil {
			w.heard()
			err = c.add(kind, payload)
		}
	}
	if err = w.stop(err); err != nil {
		return Document{}, err
	}
	return c.document(), nil
}

// dying names how the worker ended, where a read or write failed because it did.
func (p *process) dying(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	p.cmd.Process.Kill() // it may have closed its end alone
	<-p.ended
	if said := p.said.first(); said != "" {
		return fmt.Errorf("%w: %s: %s", errDied, p.cmd.ProcessState, said)
	}
	return fmt.Errorf("%w: %s", errDied, p.cmd.ProcessState)
}

// kill ends the process and waits for its end.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.ended
	p.close()
}

func (p *process) close() {
	p.in.Close()
	p.pipe.Close()
}

// notes keep the start of what a worker says on its stderr.
type notes struct{ text []byte }

// Write implements [io.Writer].
func (n *notes) Write(p []byte) (int, error) {
	n.text = append(n.text, p[:min(len(p), 1024-len(n.text))]...)
	return len(p), nil
}

// first gives the first line, once the process has ended.
func (n *notes) first() string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(n.text)), "\n")
	return line
}
