// Command arborist is the whole of Arborist on the command line: one file per
// verb, each of them thin. A verb asks the daemon where one runs, and opens
// the home itself where none does; what it does is the same.
//
// Answers go to stdout, everything else to stderr. Exit codes: 0 ok, 1 failed,
// 2 usage, 3 partial, 4 proof or data invalid, 10 no store here, 11 store
// locked, 130 interrupted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"arborist/ingest/extract/pdf/worker"
)

func main() {
	os.Exit(Main())
}

// Main runs the command line of this process and returns its exit code.
func Main() int {
	if worker.Asked(os.Args) { // started by another process of ours
		return worker.Main(os.Args)
	}
	defer raiseHeap()()
	limitMemory() // not of a worker, which takes that much to compile PDFium
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends what does not look at the first
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, terminal: isTerminal(os.Stderr), bold: isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	return a.run(ctx, os.Args[1:])
}
