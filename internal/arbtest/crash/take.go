package crash

import (
	"fmt"
	"strconv"
	"strings"
)

// add appends an op of a call.
func (p *parser) add(c call, o Op) error {
	o.Begin, o.End = c.begin, c.end
	p.ops = append(p.ops, o)
	return nil
}

// take turns a call into ops, where it met the folder.
func (p *parser) take(c call) error {
	failed := strings.HasPrefix(c.result, "-1 ") || c.result == "?"
	if failed && c.name != "fsync" && c.name != "fdatasync" {
		return nil
	}
	switch c.name {
	case "openat":
		return p.takeOpen(c, c.args)
	case "open":
		return p.takeOpen(c, append([]string{"AT_FDCWD<>"}, c.args...))
	case "write", "pwrite64":
		return p.takeWrite(c)
	case "lseek":
		return p.takeSeek(c)
	case "ftruncate":
		return p.takeTruncate(c)
	case "fallocate":
		return p.takeAllocate(c)
	case "fsync", "fdatasync":
		at, err := p.fd(c.args[0])
		if err != nil || at.below == "" {
			return err
		}
		return p.add(c, Op{Action: Sync, Path: at.below, Failed: failed})
	case "mkdir", "mkdirat", "unlink", "unlinkat", "rmdir":
		return p.takeName(c)
	case "rename", "renameat", "renameat2", "link", "linkat":
		return p.takeTwoNames(c)
	case "mmap":
		return p.takeMap(c)
	}
	return p.refuse(c)
}

// refuse fails where a call that is not understood names the folder.
func (p *parser) refuse(c call) error {
	for _, arg := range c.args {
		at, err := p.fd(arg)
		if err != nil {
			return err
		}
		if at.below != "" {
			return fmt.Errorf("%s below the folder cannot be replayed", c.name)
		}
		if strings.HasPrefix(arg, `"`) {
			if at, err := p.name("AT_FDCWD<>", arg); err == nil && at.below != "" {
				return fmt.Errorf("%s below the folder cannot be replayed", c.name)
			}
		}
	}
	if c.name == "sync" || c.name == "syncfs" {
		return fmt.Errorf("%s cannot be replayed", c.name)
	}
	return nil
}

func (p *parser) takeOpen(c call, args []string) error {
	at, err := p.name(args[0], args[1])
	if err != nil || at.below == "" {
		return err
	}
	fd, err := strconv.Atoi(strings.SplitN(c.result, "<", 2)[0])
	if err != nil {
		return err
	}
	flags := args[2]
	size, known := p.size[at.below]
	p.at[fd] = &position{append: strings.Contains(flags, "O_APPEND")}
	if !known && strings.Contains(flags, "O_CREAT") {
		p.size[at.below] = 0
		return p.add(c, Op{Action: Create, Path: at.below})
	}
	if known && size > 0 && strings.Contains(flags, "O_TRUNC") {
		p.size[at.below] = 0
		return p.add(c, Op{Action: Truncate, Path: at.below})
	}
	return nil
}

func (p *parser) takeWrite(c call) error {
	at, err := p.fd(c.args[0])
	if err != nil || at.below == "" && at.path != p.acks {
		return err
	}
	data, err := unquote(c.args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(c.result)
	if err != nil || n > len(data) {
		return fmt.Errorf("it wrote %s of %d bytes", c.result, len(data))
	}
	if at.path == p.acks {
		for line := range strings.Lines(string(data)) {
			p.add(c, Op{Action: Ack, Data: []byte(strings.TrimSuffix(line, "\n"))})
		}
		return nil
	}
	o := Op{Action: Write, Path: at.below, Data: data[:n]}
	pos := p.at[at.fd]
	switch {
	case c.name == "pwrite64":
		if o.Offset, err = strconv.ParseInt(c.args[3], 10, 64); err != nil {
			return err
		}
	case pos == nil:
		return fmt.Errorf("it writes to a file that was not opened")
	default:
		if pos.append {
			pos.offset = p.size[at.below]
		}
		o.Offset = pos.offset
		pos.offset += int64(n)
	}
	p.size[at.below] = max(p.size[at.below], o.Offset+int64(n))
	return p.add(c, o)
}

func (p *parser) takeSeek(c call) error {
	at, err := p.fd(c.args[0])
	if err != nil || at.below == "" || p.at[at.fd] == nil {
		return err
	}
	p.at[at.fd].offset, err = strconv.ParseInt(c.result, 10, 64)
	return err
}

func (p *parser) takeTruncate(c call) error {
	at, err := p.fd(c.args[0])
	if err != nil || at.below == "" {
		return err
	}
	size, err := strconv.ParseInt(c.args[1], 10, 64)
	if err != nil {
		return err
	}
	p.size[at.below] = size
	return p.add(c, Op{Action: Truncate, Path: at.below, Offset: size})
}

// takeAllocate takes blocks that were asked for, which make a file longer.
func (p *parser) takeAllocate(c call) error {
	at, err := p.fd(c.args[0])
	if err != nil || at.below == "" {
		return err
	}
	from, err := strconv.ParseInt(c.args[2], 10, 64)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(c.args[3], 10, 64)
	if err != nil {
		return err
	}
	if c.args[1] != "0" {
		return fmt.Errorf("fallocate with a mode cannot be replayed")
	}
	if from+n <= p.size[at.below] {
		return nil
	}
	p.size[at.below] = from + n
	return p.add(c, Op{Action: Truncate, Path: at.below, Offset: from + n})
}

func (p *parser) takeName(c call) error {
	args := c.args
	if !strings.HasSuffix(c.name, "at") {
		args = append([]string{"AT_FDCWD<>"}, args...)
	}
	at, err := p.name(args[0], args[1])
	if err != nil || at.below == "" {
		return err
	}
	if strings.HasPrefix(c.name, "mkdir") {
		return p.add(c, Op{Action: Mkdir, Path: at.below})
	}
	delete(p.size, at.below)
	return p.add(c, Op{Action: Unlink, Path: at.below})
}

func (p *parser) takeTwoNames(c call) error {
	args := c.args
	if !strings.Contains(c.name, "at") {
		args = []string{"AT_FDCWD<>", args[0], "AT_FDCWD<>", args[1]}
	}
	from, err := p.name(args[0], args[1])
	if err != nil {
		return err
	}
	to, err := p.name(args[2], args[3])
	if err != nil || from.below == "" && to.below == "" {
		return err
	}
	if from.below == "" || to.below == "" {
		return fmt.Errorf("a name moves over the border of the folder")
	}
	size, isFile := p.size[from.below]
	if !isFile {
		return fmt.Errorf("a folder moves: that cannot be replayed")
	}
	p.size[to.below] = size
	if strings.HasPrefix(c.name, "link") {
		return p.add(c, Op{Action: Link, Path: from.below, To: to.below})
	}
	delete(p.size, from.below)
	return p.add(c, Op{Action: Rename, Path: from.below, To: to.below})
}

// takeMap refuses maps that change a file behind our back.
func (p *parser) takeMap(c call) error {
	if len(c.args) < 5 || !strings.Contains(c.args[2], "PROT_WRITE") || !strings.Contains(c.args[3], "MAP_SHARED") {
		return nil
	}
	at, err := p.fd(c.args[4])
	if err != nil || at.below == "" || strings.HasSuffix(at.below, "-shm") {
		return err
	}
	return fmt.Errorf("a shared map of %s cannot be replayed", at.below)
}
