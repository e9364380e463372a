package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// exposedKeys says which key files of the home, of whatever kind, others than
// its owner may read or write. Signing goes on: the harm, if any, is done.
func (h Home) exposedKeys() (problems []string, err error) {
	files, err := os.ReadDir(h.Keys())
	if err != nil {
		return nil, fmt.Errorf("look at key files: %w", err)
	}
	for _, file := range files {
		if filepath.Ext(file.Name()) != ".key" {
			continue
		}
		path := filepath.Join(h.Keys(), file.Name())
		st, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // renamed or retired meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("look at key file: %w", err)
		}
		if mode := st.Mode().Perm(); mode&0o077 != 0 {
			problems = append(problems, fmt.Sprintf("key file %s has mode %04o, so that others than its owner may use it: chmod 600 %s", path, mode, path))
		}
	}
	return problems, nil
}
