package crash

import (
	"fmt"
	"math"
	"path"
)

// never is the place in a log at which an effect becomes certain that no sync
// makes so.
const never = math.MaxInt

// An effect is one change of the disk: of the data of a file, or of names.
// Files and folders go by number, so that a file keeps its data whatever name
// reaches it; 0 is the folder that was recorded.
type effect struct {
	op      int // its place in the log
	certain int // place of the sync that makes it certain, or never

	node   int // the file whose data change, -1 where names do
	offset int64
	data   []byte
	cut    bool // the file ends at offset now

	names []naming
}

// A naming is a change in a folder: name leads to target, or to nothing where
// target is negative.
type naming struct {
	folder int
	name   string
	target int
}

// A disk follows a log and works out what is certain when.
type disk struct {
	effects []effect
	folders map[int]map[string]int // the folders as the program sees them
	next    int                    // number of the next file or folder
	unsure  map[int][]int          // file or folder → its effects that wait for a sync
}

// follow works out the effects of a log.
func follow(l *Log) (*disk, error) {
	d := &disk{folders: map[int]map[string]int{0: {}}, next: 1, unsure: map[int][]int{}}
	for i, o := range l.Ops {
		if err := d.apply(i, o, l); err != nil {
			return nil, fmt.Errorf("follow op %d, %s: %w", i, o, err)
		}
	}
	return d, nil
}

// find returns the folder of a path and the number that its name leads to, -1
// for none.
func (d *disk) find(p string) (folder int, name string, node int, err error) {
	if p == "." {
		return 0, ".", 0, nil
	}
	dir, name := path.Split(p)
	for part := range splitPath(dir) {
		child, ok := d.folders[folder][part]
		if !ok {
			return 0, "", 0, fmt.Errorf("no folder %s", dir)
		}
		folder = child
	}
	node, ok := d.folders[folder][name]
	if !ok {
		node = -1
	}
	return folder, name, node, nil
}

// splitPath yields the parts of a path.
func splitPath(p string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for start, i := 0, 0; i <= len(p); i++ {
			if i == len(p) || p[i] == '/' {
				if i > start && !yield(p[start:i]) {
					return
				}
				start = i + 1
			}
		}
	}
}

func (d *disk) apply(i int, o Op, l *Log) error {
	if o.Action == Ack {
		return nil
	}
	folder, name, node, err := d.find(o.Path)
	if err != nil {
		return err
	}
	if node < 0 && o.Action != Create && o.Action != Mkdir {
		return fmt.Errorf("no such name")
	}
	switch o.Action {
	case Create, Mkdir:
		node = d.next
		d.next++
		if o.Action == Mkdir {
			d.folders[node] = map[string]int{}
		}
		d.rename(i, naming{folder, name, node})
	case Write:
		d.wait(effect{op: i, node: node, offset: o.Offset, data: o.Data}, node)
	case Truncate:
		d.wait(effect{op: i, node: node, offset: o.Offset, cut: true}, node)
	case Unlink:
		d.rename(i, naming{folder, name, -1})
	case Rename, Link:
		toFolder, toName, _, err := d.find(o.To)
		if err != nil {
			return err
		}
		names := []naming{{toFolder, toName, node}}
		if o.Action == Rename {
			names = append(names, naming{folder, name, -1})
		}
		d.rename(i, names...)
	case Sync:
		d.sync(i, node, o, l)
	}
	return nil
}

// wait notes an effect that becomes certain when node is synced.
func (d *disk) wait(e effect, node int) {
	e.certain = never
	d.unsure[node] = append(d.unsure[node], len(d.effects))
	d.effects = append(d.effects, e)
}

// rename notes a change of names, which is atomic and becomes certain with the
// folder of the first of them.
func (d *disk) rename(i int, names ...naming) {
	for _, n := range names {
		if n.target < 0 {
			delete(d.folders[n.folder], n.name)
		} else {
			d.folders[n.folder][n.name] = n.target
		}
	}
	d.wait(effect{op: i, node: -1, names: names}, names[0].folder)
}

// sync makes certain what had ended before the sync began. One of a file that
// failed leaves it uncertain for ever.
func (d *disk) sync(i, node int, o Op, l *Log) {
	var later []int
	for _, e := range d.unsure[node] {
		switch {
		case l.Ops[d.effects[e].op].End >= o.Begin:
			later = append(later, e)
		case !o.Failed || d.effects[e].node < 0:
			d.effects[e].certain = i
		}
	}
	d.unsure[node] = later
}
