package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// paceWord makes this program the honest peer of a crowd. It is a process of its
// own: among the goroutines of the flood it would wait for those, not for the daemon.
const paceWord = "pace"

// pace has another process ask for proofs at its ease, and returns how long each
// took, sorted. The words of before start that process.
func (b *bench) pace(addr string, paths []string, before ...string) (times []time.Duration, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := append(before, self, paceWord, addr)
	cmd := exec.CommandContext(b.ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(strings.Join(paths, "\n")), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	return times, json.Unmarshal(out, &times)
}

// honest asks a node for a proof every 10 ms, 1,000 times, of the resources that in
// names, and writes how long each took, sorted.
func honest(ctx context.Context, addr string, in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	paths := strings.Fields(string(text))
	g, err := newGuest(ctx, addr, 1)
	if err != nil {
		return err
	}
	defer g.host.Close()
	var times []time.Duration
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := range 1000 {
		<-tick.C
		began := time.Now()
		status, _, err := g.get(ctx, paths[i%len(paths)])
		if err == nil && status != http.StatusOK {
			err = errors.New(http.StatusText(status))
		}
		if err != nil {
			return fmt.Errorf("an honest request: %w", err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return json.NewEncoder(out).Encode(times)
}
