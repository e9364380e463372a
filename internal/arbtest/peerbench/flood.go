package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// floodWord makes this program the flooders of a crowd.
const floodWord = "flood"

// flooders and their streams ask for proofs as fast as they get them.
const flooders, floodStreams = 10, 16

// A flooded says how much a flood was.
type flooded struct{ Asked, Refused int64 }

// flood has peers of another process flood a node until stop is called.
func (b *bench) flood(addr string, paths []string) (stop func() (flooded, error), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(b.ctx, self, floodWord, addr)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a flood: %w", err)
	}
	_, err = io.WriteString(in, strings.Join(paths, " ")+"\n")
	return func() (said flooded, err error) {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			return said, err
		}
		return said, json.Unmarshal([]byte(out.String()), &said)
	}, err
}

// floods asks a node for the resources that the first line of in names, until in
// ends, and writes how often.
func floods(ctx context.Context, addr string, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines := bufio.NewReader(in)
	named, err := lines.ReadString('\n')
	if err != nil {
		return err
	}
	paths := strings.Fields(named)
	go func() {
		defer stop()
		io.Copy(io.Discard, lines)
	}()
	var all sync.WaitGroup
	var asked, refused atomic.Int64
	for range flooders {
		g, err := newGuest(ctx, addr, floodStreams)
		if err != nil {
			return err
		}
		defer g.host.Close()
		for range floodStreams {
			all.Go(func() {
				for ctx.Err() == nil {
					status, _, err := g.get(ctx, paths[int(asked.Add(1))%len(paths)])
					if err != nil {
						time.Sleep(100 * time.Millisecond) // it was sent away
					} else if status != http.StatusOK {
						refused.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	return json.NewEncoder(out).Encode(flooded{asked.Load(), refused.Load()})
}
