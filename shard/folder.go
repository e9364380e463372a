package shard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeFolder makes a folder that its owner alone may enter, with those above
// it, and makes its name durable, also where an earlier call that was cut short
// had made it.
func MakeFolder(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := MakeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// A folder that we may not read cannot be synced, and is no folder of ours.
	if err := SyncFolder(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// SyncFolder makes the names in a folder durable: new ones, and that others are
// gone.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
