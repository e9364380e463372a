package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// A write-ahead log that is moved into its file makes that longer. A full disk has
// just enough left to open the files of a home (the daemon's reserve), and a move
// that is tried and cut short would take it.

// errNoRoom: the disk is too full to move a write-ahead log into its file.
var errNoRoom = fmt.Errorf("%w: no room to move the write-ahead log into the file", ErrFull)

// RoomToMove fails with an [ErrFull] where the disk lacks the space by which the
// write-ahead log makes the file at path longer.
func RoomToMove(ctx context.Context, conn *sql.Conn, path string) error {
	var pages, pageSize int64
	err := errors.Join(
		conn.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages),
		conn.QueryRowContext(ctx, "PRAGMA page_size").Scan(&pageSize))
	if err != nil {
		return classify(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if pages*pageSize-info.Size() > free(path) {
		return errNoRoom
	}
	return nil
}

// CloseFile closes both handles of the SQLite file at path. The writer goes last:
// its close moves the write-ahead log into the file and leaves that one standing
// alone. Where the log may have no room there, or keep says that a sync of it may
// have failed, it stays for the next Open: a read-only handle that goes last moves
// nothing. A log that the disk does not hold as it is read must not be moved: what
// the disk holds of it would come back after a power cut, over what is newer.
func CloseFile(path string, reader, writer *sql.DB, keep bool) error {
	if log, err := os.Stat(path + "-wal"); err == nil && (keep || log.Size() > free(path)) {
		var n int // to be the last one, a handle must have read
		if reader.Stats().InUse > 0 || reader.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&n) == nil {
			return errors.Join(writer.Close(), reader.Close())
		}
	}
	return errors.Join(reader.Close(), writer.Close())
}

// free is the space left on the disk of path, in bytes. Where that is not known,
// it counts as plenty.
func free(path string) int64 {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &disk); err != nil {
		return 1 << 62
	}
	return int64(disk.Bavail) * int64(disk.Bsize)
}
