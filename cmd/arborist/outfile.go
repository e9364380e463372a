package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"arborist/daemon/api"
)

// errNotFile: what stands under the name of an output is a folder or a device.
var errNotFile = errors.New("it is there and is no file")

// checkOutput finds out, before any work is done or said, whether a file can
// be written under this name. It leaves nothing behind.
func checkOutput(name string) error {
	if name == "-" {
		return usage(errors.New(`no file can be written under the name "-"`), "leave the flag out where stdout is its default; ./- is a file of that name")
	}
	f, err := besides(name)
	if err != nil {
		return outputError(name, err)
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return outputError(name, err)
	}
	return nil
}

// besides makes a file in the folder of name, for the owner alone. A file that
// stands under name may be replaced; what is no file, such as a device, not.
func besides(name string) (*os.File, error) {
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		return nil, errNotFile
	}
	return os.CreateTemp(filepath.Dir(name), ".arborist-*")
}

// writeWhole writes a file whole or not at all.
func writeWhole(name string, b []byte, mode fs.FileMode) error {
	f, err := besides(name)
	if err != nil {
		return outputError(name, err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return outputError(name, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// outputError says what is wrong with the name that was given, not with that
// of a file which nobody has asked for.
func outputError(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	dir := filepath.Dir(name)
	switch {
	case errors.Is(err, errNotFile):
		return usage(fmt.Errorf("write %s: %w", name, err), "name a file to write")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return api.NewError(api.CodeFailed, fmt.Errorf("write %s: the folder %q does not exist", name, dir), "make that folder first, or name a file elsewhere")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return api.NewError(api.CodeFailed, fmt.Errorf("write %s: %w", name, err), "name a file in a folder that you may write to")
	case errors.Is(err, syscall.ENOSPC):
		return api.NewError(api.CodeFailed, fmt.Errorf("write %s: %w", name, err), "free some space on that disk, or name a file on another")
	}
	return fmt.Errorf("write %s: %w", name, err)
}
