package crash

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// A parser reads strace's lines. The names that it knows are those of the
// folder as the calls change it, so that it can tell a new file from an opened
// one.
type parser struct {
	folder, acks string
	ops          []Op

	line int               // number of the line at hand
	open map[string]int    // unfinished calls: thread → index in held
	held []call            // text of unfinished calls
	at   map[int]*position // by file descriptor
	size map[string]int64  // of each file below the folder, by path
}

// A position is where the next write of a file descriptor goes.
type position struct {
	offset int64
	append bool
}

// A call is one line, or two that belong together.
type call struct {
	name       string
	args       []string
	result     string
	begin, end int
}

var (
	wholeLine   = regexp.MustCompile(`^(\d+) +(\w+)\((.*)\) += (.*)$`)
	beginLine   = regexp.MustCompile(`^(\d+) +(\w+)\((.*?),? *<unfinished \.\.\.>$`)
	resumedLine = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (.*)$`)
	descriptor  = regexp.MustCompile(`^(\d+|AT_FDCWD)<([^>]*)>(\(deleted\))?$`)
)

func (p *parser) parse(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		text, err := lines.ReadString('\n')
		if text == "" && err == io.EOF {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		p.line++
		if err := p.read(strings.TrimSuffix(text, "\n")); err != nil {
			return fmt.Errorf("line %d: %w: %.300s", p.line, err, text)
		}
	}
}

func (p *parser) read(text string) error {
	if m := beginLine.FindStringSubmatch(text); m != nil {
		p.open[m[1]] = len(p.held)
		p.held = append(p.held, call{name: m[2], args: split(m[3]), begin: p.line})
		return nil
	}
	if m := resumedLine.FindStringSubmatch(text); m != nil {
		i, ok := p.open[m[1]]
		if !ok || p.held[i].name != m[2] {
			return fmt.Errorf("it resumes a call that did not begin")
		}
		delete(p.open, m[1])
		c := p.held[i]
		p.held[i] = call{}
		c.args = append(c.args, split(strings.TrimPrefix(m[3], ", "))...)
		c.result, c.end = m[4], p.line
		return p.take(c)
	}
	if m := wholeLine.FindStringSubmatch(text); m != nil {
		return p.take(call{name: m[2], args: split(m[3]), result: m[4], begin: p.line, end: p.line})
	}
	return nil // a signal, an exit
}

// split takes arguments apart. No string holds a comma: they are all in
// hexadecimal.
func split(args string) []string {
	if args = strings.TrimSpace(args); args == "" {
		return nil
	}
	return strings.Split(args, ", ")
}

// unquote reads a string argument.
func unquote(arg string) ([]byte, error) {
	if strings.HasSuffix(arg, "...") {
		return nil, fmt.Errorf("strace has cut a string")
	}
	body, opened := strings.CutPrefix(arg, `"`)
	body, closed := strings.CutSuffix(body, `"`)
	if !opened || !closed {
		return nil, fmt.Errorf("not a string: %.40s", arg)
	}
	return unhex(body)
}

func unhex(s string) ([]byte, error) {
	return hex.DecodeString(strings.ReplaceAll(s, `\x`, ""))
}

// A place is what an argument names.
type place struct {
	fd    int
	path  string // absolute
	below string // below the folder, "" where it is not
}

// fd reads a file descriptor with the path that strace shows for it.
func (p *parser) fd(arg string) (place, error) {
	m := descriptor.FindStringSubmatch(arg)
	if m == nil || m[3] != "" {
		return place{fd: -1}, nil // a pipe's end after its close, or a file without a name
	}
	path, err := unhex(m[2])
	if err != nil {
		return place{}, err
	}
	fd, err := strconv.Atoi(m[1])
	if err != nil {
		fd = -1
	}
	return place{fd: fd, path: string(path), below: p.below(string(path))}, nil
}

func (p *parser) below(path string) string {
	if path == p.folder {
		return "."
	}
	if below, ok := strings.CutPrefix(path, p.folder+"/"); ok {
		return below
	}
	return ""
}

// name reads a path argument that stands behind its folder's descriptor.
func (p *parser) name(dir, arg string) (place, error) {
	path, err := unquote(arg)
	if err != nil {
		return place{}, err
	}
	if len(path) > 0 && path[0] == '/' {
		return place{fd: -1, path: string(path), below: p.below(string(path))}, nil
	}
	at, err := p.fd(dir)
	if err != nil {
		return place{}, err
	}
	full := at.path + "/" + string(path)
	return place{fd: -1, path: full, below: p.below(full)}, nil
}
