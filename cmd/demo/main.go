// Command demo runs the main job of Arborist end to end on real input, with
// the real programs: `make demo` builds them and runs it.
//
// It crawls the documentation that comes with Go from a server on loopback,
// adds this project's own docs, queries both, proves a passage, has the proof
// checked by a program without store and network, and syncs a corpus between
// two daemons, one of which cannot get at the other's crawl. It leaves nothing
// running and nothing on disk, and exits non-zero if any step fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// timeLimit is far more than the demo takes on a slow machine.
const timeLimit = 10 * time.Minute

func main() {
	bin := flag.String("bin", "bin", "folder of the built programs")
	docs := flag.String("docs", "docs", "folder to add to the shared corpus")
	site := flag.String("site", "", "folder of HTML documents to serve and crawl")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	if err := run(ctx, *bin, *docs, *site); err != nil {
		fmt.Fprintln(os.Stderr, "demo failed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, docs, site string) (err error) {
	start := time.Now()
	work, err := os.MkdirTemp("", "arborist-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	d, err := newDemo(bin, docs, site, work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()

	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"make two homes", d.makeHomes},
		{"crawl", d.crawl},
		{"add", d.add},
		{"query", d.query},
		{"prove", d.prove},
		{"verify", d.verify},
		{"refuse a tampered proof", d.tamper},
		{"start two daemons", d.startDaemons},
		{"sync", d.sync},
		{"query the follower", d.queryFollower},
		{"ask for the private crawl", d.askForPrivate},
		{"stop", d.stopDaemons},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	say("done", "every step held, in %.1f s; nothing is left running or on disk", time.Since(start).Seconds())
	return nil
}

// say prints one line of the story.
func say(what, format string, args ...any) {
	fmt.Printf("%-9s %s\n", what, fmt.Sprintf(format, args...))
}
