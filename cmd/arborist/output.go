package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"

	"arborist/daemon/api"
)

// emit prints the answer: one JSON object with --json, the lines that human
// writes otherwise.
func (a *app) emit(v any, human func(*lines)) error {
	if a.json {
		return a.emitJSON(v)
	}
	l := &lines{bold: a.bold}
	human(l)
	_, err := a.out.Write([]byte(l.b.String()))
	return err
}

func (a *app) emitJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// note says something beside the answer.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintln(a.err, clean(fmt.Sprintf(format, args...)))
	}
}

// warn says what to beware of beside the answer.
func (a *app) warn(warnings []string) {
	for _, w := range warnings {
		a.note("warning: %s", w)
	}
}

// fail prints an error, with its next step, and returns its exit code.
func (a *app) fail(err error) int {
	var silent *exitError
	if errors.As(err, &silent) {
		return silent.code
	}
	e := api.AsError(err)
	a.say(e)
	if a.json {
		a.emitJSON(map[string]*api.Error{"error": e})
	}
	return e.Code.ExitCode()
}

// say prints an error with its next step for people.
func (a *app) say(e *api.Error) {
	fmt.Fprintln(a.err, "arborist: "+strings.ReplaceAll(clean(e.Message), "\n", "; "))
	if e.Hint != "" {
		fmt.Fprintln(a.err, "next: "+clean(e.Hint))
	}
}

// An exitError ends a verb with a code after the verb has said all there is to
// say.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// lines builds a human-readable answer. Everything that goes through it is
// stripped of terminal control characters.
type lines struct {
	b    strings.Builder
	bold bool // the answer may have bold words: it goes to a terminal
}

func (l *lines) printf(format string, args ...any) {
	l.b.WriteString(clean(fmt.Sprintf(format, args...)))
	l.b.WriteByte('\n')
}

// clean drops control characters except newline and tab: text from documents,
// peers and servers must not drive the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.Is(unicode.Cc, r):
			return -1
		// Direction overrides can make a line read as another one.
		case r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, s)
}

func isTerminal(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// byteSize writes a number of bytes for people.
func byteSize(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
