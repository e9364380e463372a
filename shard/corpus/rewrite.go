package corpus

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// RewriteLog writes the write-ahead log of the SQLite file at path once more,
// byte for byte in place, and syncs it. After a failed fsync the kernel takes
// the pages for written that never were, and a second fsync writes nothing:
// what is to be copied from the log into the file must be on the disk first, or
// a power cut in the middle of the copy leaves half of it. The caller must be
// the only writer.
func RewriteLog(path string) error {
	f, err := os.OpenFile(path+"-wal", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("rewrite write-ahead log: %w", err)
	}
	defer f.Close()
	block := make([]byte, 256<<10)
	for at, n := int64(0), 0; err == nil; at += int64(n) {
		if n, err = f.ReadAt(block, at); n > 0 {
			if _, werr := f.WriteAt(block[:n], at); werr != nil {
				err = werr
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("rewrite write-ahead log: %w", err)
	}
	return nil
}
