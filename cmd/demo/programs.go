package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A node is a home and, while it runs, its daemon.
type node struct {
	home   string
	daemon *exec.Cmd
	stderr *bytes.Buffer
}

// ask runs a verb with --json on a node and reads its answer into res.
func (d *demo) ask(ctx context.Context, n *node, res any, args ...string) error {
	args = append([]string{"--home", n.home, "--json", "--quiet"}, args...)
	out, err := output(exec.CommandContext(ctx, d.arborist, args...))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, res); err != nil {
		return fmt.Errorf("read the answer of %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// output runs a command. Its error holds what the command said.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// exitCode returns the exit code of a command that was meant to fail.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// start starts the node's daemon on loopback and waits until it says that it
// is ready.
func (d *demo) start(ctx context.Context, n *node) error {
	// The daemon outlives ctx: stop ends it, so that it can stop cleanly.
	cmd := exec.Command(d.arborist, "--home", n.home, "--json", "daemon",
		"--listen", "/ip4/127.0.0.1/tcp/0", "--listen", "/ip4/127.0.0.1/udp/0/quic-v1")
	// With the demo, however it ends, ends the daemon.
	cmd.SysProcAttr = endWithParent()
	n.stderr = new(bytes.Buffer)
	cmd.Stderr = n.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.daemon = cmd
	ready := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(stdout).ReadString('\n')
		ready <- err
		io.Copy(io.Discard, stdout)
	}()
	select {
	case err := <-ready:
		if err != nil {
			return errors.Join(fmt.Errorf("daemon of %s did not start: %s", n.home, strings.TrimSpace(n.stderr.String())), d.stop(n))
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop stops the node's daemon, which must end by itself and without an error.
func (d *demo) stop(n *node) error {
	if n.daemon == nil {
		return nil
	}
	cmd := n.daemon
	n.daemon = nil
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("daemon of %s: %w: %s", n.home, err, strings.TrimSpace(n.stderr.String()))
		}
		return nil
	case <-time.After(30 * time.Second):
		cmd.Process.Signal(syscall.SIGKILL)
		<-ended
		return fmt.Errorf("daemon of %s did not stop within 30 s", n.home)
	}
}
