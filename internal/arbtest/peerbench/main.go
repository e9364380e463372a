// Command peerbench measures the peer network against Kubo and against bare
// libp2p, in one run on one machine, and prints each figure beside what it is
// held to (docs/decisions/011). The two sides of a comparison run one after the
// other on the same documents, over loopback, daemon to daemon.
//
// KUBO names the ipfs program (0.43); without it the rows that need it say so.
// ROWS picks rows: idle, small, large, edited, proofs, crowd. DOCS, MIB and PEERS
// make it smaller. VERSIONS adds a part to the row edited.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
)

// A bench is one run.
type bench struct {
	ctx     context.Context
	dir     string // for everything
	program string // arborist
	kubo    string // ipfs, or empty
	docs    int
	large   int // MiB
	peers   int
	started []*process // daemons, those that were stopped among them
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	work := run
	if len(os.Args) == 3 {
		parts := map[string]func(context.Context, string, io.Reader, io.Writer) error{paceWord: honest, floodWord: floods}
		if part := parts[os.Args[1]]; part != nil {
			work = func(ctx context.Context) error { return part(ctx, os.Args[2], os.Stdin, os.Stdout) }
		}
	}
	if err := work(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "peerbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "peerbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: ctx, dir: dir, docs: number("DOCS", 20_000), large: number("MIB", 512), peers: number("PEERS", 500)}
	if b.program, err = installed(dir, env("ARBORIST", "bin/arborist")); err != nil {
		return err
	}
	if kubo := os.Getenv("KUBO"); kubo != "" {
		if b.kubo, err = installed(dir, kubo); err != nil {
			return err
		}
	}
	defer func() { // where a row failed, its daemons still run
		for _, p := range b.started {
			p.stop()
		}
	}()
	rows := []struct {
		name string
		run  func() error
	}{{"idle", b.idle}, {"small", b.small}, {"large", b.big}, {"edited", b.edited}, {"proofs", b.proofs}, {"crowd", b.crowd}}
	want := strings.Fields(env("ROWS", "idle small large edited proofs crowd"))
	for _, r := range rows {
		for _, w := range want {
			if w != r.name {
				continue
			}
			if err := r.run(); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	return nil
}

// row prints a figure and what it is held to.
func row(what, got, goal string) { fmt.Printf("%-58s %-44s %s\n", what, got, goal) }

func env(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func number(name string, otherwise int) int {
	n, err := strconv.Atoi(env(name, strconv.Itoa(otherwise)))
	if err != nil || n < 1 {
		fmt.Fprintf(os.Stderr, "peerbench: %s=%s is no number above 0\n", name, os.Getenv(name))
		os.Exit(2)
	}
	return n
}
