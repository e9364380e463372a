package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"arborist/shard"
)

// sayOutdated says that the stores of the home are of an older schema version, before
// they are opened: all of their index is made anew then, which may take minutes.
func (n *Node) sayOutdated() {
	paths, err := filepath.Glob(filepath.Join(n.home.Shards(), "*.db"))
	if err != nil {
		return
	}
	var files int
	var bytes int64
	for _, path := range append(paths, n.crawlDB) {
		if info, err := os.Stat(path); err == nil && shard.Outdated(path) {
			files, bytes = files+1, bytes+info.Size()
		}
	}
	if files > 0 {
		n.log.Warn("stores of an older version are indexed anew, once: that takes about as long as adding their documents did", "files", files, "bytes", bytes)
	}
}

// upgradeAttached brings the copies of attached files that are of an older schema version to
// this one: the files that they came from may be gone. A copy is a stranger's file
// as before, so it is adopted again, from itself. One for which that fails stays as
// it is, and status says so.
func (n *Node) upgradeAttached(ctx context.Context) {
	a := n.attached
	list, err := a.listed()
	if err != nil {
		return
	}
	for i, f := range list {
		old := filepath.Join(a.dir, f.Name)
		if !shard.Outdated(old) {
			continue
		}
		n.log.Warn("an attached file is of an older version: its copy is verified and indexed anew, once", "file", f.Path)
		adopted, err := shard.Adopt(ctx, old, a.dir, n.cfg.attachLimit())
		if err == nil {
			list[i].Name = adopted.Name
			err = a.replace(list)
		}
		if err == nil && adopted.Name != f.Name {
			err = errors.Join(os.Remove(old), shard.SyncFolder(a.dir))
		}
		if err != nil {
			n.log.Error("an attached file of an older version is not searched", "file", f.Path, "error", err)
		}
	}
}
