// Package crash rebuilds the disks that a power cut could leave, for tests.
//
// [Record] runs a program below strace and keeps every call that changes what
// is below one folder: writes, truncates, new names, renames, links, folders,
// and the fsyncs between them, in the order of the kernel, beside the lines in
// which the program acknowledged its work. [NewPlan] takes such a [Log] and
// says which images of the folder can be there after a cut; [Plan.Build] makes
// one of them.
//
// The disk is as bad as POSIX allows. Data of a file is certain once an fsync
// or fdatasync of that file has returned, and only what was written before the
// call began; a name is certain once its folder was synced. Everything else may
// be there or not, each piece by itself and in any order, and a write may be
// torn between sectors. After an fsync of a file that failed, what it was to
// bring to the disk never becomes certain, whatever a later fsync says (as in
// Linux, which forgets the error with the dirty pages). One of a folder counts
// although it failed: SQLite ignores that error, and a file system that cannot
// write names takes no more writes at all. Bytes outside a write are never
// damaged by it: SQLite relies on that as well (powersafe overwrite).
//
// It sees no writes through shared maps and refuses a program that makes one,
// except of SQLite's -shm files, whose content no recovery uses.
package crash

import "fmt"

// An Action is what a recorded call did.
type Action int

const (
	Create   Action = iota // Path is a new, empty file
	Write                  // Data at Offset of Path
	Truncate               // Path has Offset bytes now
	Rename                 // Path is called To now, which is replaced
	Link                   // the file at Path is called To as well
	Unlink                 // Path is no name any more
	Mkdir                  // Path is a new folder
	Sync                   // Path, a file or folder, was synced
	Ack                    // the program said Data to the outside
)

var actions = [...]string{"create", "write", "truncate", "rename", "link", "unlink", "mkdir", "sync", "ack"}

// String returns a word for the action.
func (a Action) String() string { return actions[a] }

// An Op is one recorded call.
type Op struct {
	Action   Action
	Path, To string // below the folder, with slashes; "." is the folder
	Offset   int64
	Data     []byte
	Failed   bool // a Sync that returned an error
	// Begin and End are places in the recording: another call may have ended
	// between the two. Ops stand in the order of End.
	Begin, End int
}

// String says what the call did, without its data.
func (o Op) String() string {
	switch o.Action {
	case Write:
		return fmt.Sprintf("write %s %d+%d", o.Path, o.Offset, len(o.Data))
	case Truncate:
		return fmt.Sprintf("truncate %s to %d", o.Path, o.Offset)
	case Rename, Link:
		return fmt.Sprintf("%s %s to %s", o.Action, o.Path, o.To)
	case Ack:
		return fmt.Sprintf("ack %q", o.Data)
	}
	if o.Failed {
		return fmt.Sprintf("%s %s failed", o.Action, o.Path)
	}
	return fmt.Sprintf("%s %s", o.Action, o.Path)
}

// A Log is what a program did below a folder that was empty.
type Log struct{ Ops []Op }

// Acks returns what the program had acknowledged when the first cut ops were
// done.
func (l *Log) Acks(cut int) []string {
	var acks []string
	for _, o := range l.Ops[:cut] {
		if o.Action == Ack {
			acks = append(acks, string(o.Data))
		}
	}
	return acks
}

// Without returns the log without the ops that drop names: a disk or a program
// that leaves out syncs.
func (l *Log) Without(drop func(Op) bool) *Log {
	out := &Log{}
	for _, o := range l.Ops {
		if !drop(o) {
			out.Ops = append(out.Ops, o)
		}
	}
	return out
}
