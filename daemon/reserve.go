package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"arborist/daemon/api"
	"arborist/shard"
	"arborist/shard/corpus"
)

// States of a node, in status.
const (
	stateWriting  = "read-write"
	stateReadOnly = "read-only: disk full"
)

// A reserve is a file that keeps some space of the home's disk, so that a node
// can still be opened and read when the rest is full: SQLite needs 32 KiB
// beside each file that it reads, and heads and logs may have to be settled.
//
// A node is read-only while less than the reserve's size is free beside it, and
// writes again by itself when there is. The reserve is given away only where a home could not be
// opened otherwise, and taken again when there is space.
type reserve struct {
	path   string
	shards func() int // of the home, which a split changes
}

// size is in bytes.
func (r *reserve) size() int64 { return reserveSize(r.shards()) }

// reserveSize is for a home with this many shards.
func reserveSize(shards int) int64 { return 1<<20 + int64(shards)<<16 }

// take makes the reserve, unless it is there, and reports whether there is
// space to write beside it.
func (r *reserve) take() bool {
	info, err := os.Lstat(r.path)
	size := r.size()
	there := err == nil && info.Mode().IsRegular() && info.Size() == size
	need := size
	if !there {
		need *= 2
	}
	free, err := freeSpace(r.path)
	switch {
	case err == nil && free < need:
		return false
	case err == nil && !there:
		err = r.write(size)
	}
	if err != nil {
		// There is no reserve then; a full disk is met when it is met.
		os.Remove(r.path)
	}
	return !corpus.IsFull(err)
}

// write makes the file with its blocks. Zeros could be stored as nothing, so
// the file system is asked for the blocks.
func (r *reserve) write(size int64) error {
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	err = syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, syscall.EOPNOTSUPP) {
		_, err = f.Write(make([]byte, size))
	}
	return errors.Join(err, f.Close())
}

// freeSpace is what the owner can still write where path lies, in bytes.
func freeSpace(path string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// writable refuses where the node is read-only, after it has looked whether
// there is space again.
func (n *Node) writable() error {
	if n.state() == stateWriting {
		return nil
	}
	return explain(fmt.Errorf("write to %s: %w", n.home, shard.ErrFull))
}

// state says whether the node takes writes.
func (n *Node) state() string {
	if n.reserve.take() {
		return stateWriting
	}
	return stateReadOnly
}

// fullProblem is what status says of a node that is read-only.
func (n *Node) fullProblem() string {
	return fmt.Sprintf("the disk of %s is full: it is read-only until %d MB are free beside its reserve; what is stored can be read and searched",
		n.home, n.reserve.size()>>20+1)
}

// setState puts the state into a status.
func (n *Node) setState(res *api.StatusResult) {
	if res.State = n.state(); res.State != stateWriting {
		res.Problems = append(res.Problems, n.fullProblem())
	}
}
