// Package worker is the process that reads PDF files for package pdf: PDFium in
// WebAssembly behind a pair of pipes. It has no way to files or the network:
// WebAssembly is given none, and once PDFium is compiled the process itself can
// open nothing any more.
package worker

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"arborist/ingest/extract/pdf"
)

// Asked reports whether a program with these arguments was started as a worker.
func Asked(args []string) bool { return len(args) == 3 && args[1] == pdf.Verb }

// Main answers requests on stdin until there are no more, and returns the exit
// code. args are those of the program, see [Asked].
func Main(args []string) int {
	if err := serve(os.Stdin, os.Stdout, args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serve returns after a file that is over a limit. At the end of in it ends the
// whole process, whatever it is doing: nobody waits for it any more.
func serve(in io.Reader, out io.Writer, cache string) error {
	files := make(chan []byte)
	go func() {
		for {
			file, err := pdf.ReadRequest(in, pdf.MaxFile)
			if err != nil {
				os.Exit(0)
			}
			files <- file
		}
	}()
	e, err := openEngine(cache)
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // compiling takes 300 MB and more
	if err := closeDoors(); err != nil {
		return err
	}
	if err := pdf.WriteFrame(out, pdf.Ready, []byte(pdf.Protocol)); err != nil {
		return err
	}
	for file := range files {
		kind, why, err := e.read(file, func(kind byte, payload string) error {
			return pdf.WriteFrame(out, kind, []byte(payload))
		})
		if err != nil {
			return err
		}
		if err := pdf.WriteFrame(out, kind, []byte(why)); err != nil || kind == pdf.OverLimit {
			return err
		}
	}
	return nil
}
