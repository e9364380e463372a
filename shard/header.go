package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// sidecars are the files that SQLite may keep beside one.
var sidecars = [...]string{"-wal", "-shm", "-journal"}

// inspect looks at a file before SQLite does: that it is a plain file with one
// name, that its sidecars are too, and what its header says. It follows no
// link and never blocks, whatever stands there.
func inspect(path string) (Kind, uint32, error) {
	kind, version, err := inspectFile(path)
	if err != nil {
		return 0, 0, err
	}
	for _, suffix := range sidecars {
		if err := plain(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, 0, err
		}
	}
	return kind, version, nil
}

// plain checks that a path is a regular file, no link, with no second name.
func plain(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return plainInfo(path, info)
}

func plainInfo(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: it is a %s", ErrUnsafe, describe(info.Mode()))
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return fmt.Errorf("%w: %s has %d hard links; copy it to a file of its own", ErrUnsafe, filepath.Base(path), st.Nlink)
	}
	return nil
}

func describe(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// inspectFile reads application_id and user_version straight from the header
// (https://www.sqlite.org/fileformat.html#the_database_header). Both are in
// the main file from its creation on, never in the log alone.
func inspectFile(path string) (Kind, uint32, error) {
	// O_NONBLOCK: opening a pipe would otherwise wait for its other end.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return 0, 0, fmt.Errorf("%w: it is a symbolic link", ErrUnsafe)
	case errors.Is(err, fs.ErrNotExist):
		return 0, 0, ErrNotFound
	case err != nil:
		// Sockets and some devices cannot be opened at all: say what they are.
		if unsafe := plain(path); errors.Is(unsafe, ErrUnsafe) {
			return 0, 0, unsafe
		}
		return 0, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	if err := plainInfo(path, info); err != nil {
		return 0, 0, err
	}
	var header [100]byte
	if _, err := io.ReadFull(f, header[:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, 0, fmt.Errorf("%w: %d bytes are no SQLite file", ErrKind, info.Size())
		}
		return 0, 0, err
	}
	if string(header[:16]) != "SQLite format 3\x00" {
		return 0, 0, fmt.Errorf("%w: no SQLite file", ErrKind)
	}
	return Kind(binary.BigEndian.Uint32(header[68:])), binary.BigEndian.Uint32(header[60:]), nil
}

// Outdated reports whether there is a shard file of an older schema version at a
// path: opened as one of ours, it is brought to this one, and indexed anew. It reads
// the head of the file alone.
func Outdated(path string) bool {
	kind, version, err := inspectFile(path)
	return err == nil && (kind == KindShared || kind == KindPrivate) && 0 < version && version < SchemaVersion
}

// expect compares what inspect found with what is wanted.
func expect(kind Kind, version uint32, want ...Kind) error {
	ok := false
	for _, w := range want {
		ok = ok || kind == w
	}
	switch {
	case !ok:
		return fmt.Errorf("%w: this one is %s, wanted is %s", ErrKind, kind, want[0])
	case version < 1 || version > LastVersion:
		return fmt.Errorf("%w: schema version %d does not exist", ErrCorrupt, version)
	case version > SchemaVersion:
		return fmt.Errorf("%w (schema %d, this one knows %d)", ErrNewer, version, SchemaVersion)
	}
	return nil
}
