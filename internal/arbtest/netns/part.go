package netns

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"time"
)

// partTime is how long a part may run, whatever becomes of its test.
const partTime = 4 * time.Minute

// A Part is a test of the running binary that runs as a child inside a space. It
// is asked by lines, answers so, and ends when its input does.
type Part struct {
	In    io.Writer
	Lines *bufio.Scanner // of its output

	t *testing.T
}

// Start starts one test of the running test binary inside the space, with more
// environment. It ends with the test that started it.
func (s Space) Start(t *testing.T, test string, env ...string) *Part {
	t.Helper()
	cmd := s.Run(test, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(partTime, func() { cmd.Process.Kill() })
	t.Cleanup(func() { kill.Stop(); in.Close(); cmd.Wait() })
	return &Part{In: in, Lines: bufio.NewScanner(out), t: t}
}

// Says returns what follows a word in the next line that starts with it. A part
// that ends without one fails the test.
func (p *Part) Says(word string) string {
	p.t.Helper()
	var seen []string
	for p.Lines.Scan() {
		if rest, ok := strings.CutPrefix(p.Lines.Text(), word); ok {
			return strings.TrimSpace(rest)
		}
		seen = append(seen, p.Lines.Text())
	}
	p.t.Fatalf("the child ended without %q: %q", word, seen)
	return ""
}
