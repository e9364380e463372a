package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"arborist/daemon/api"
)

// keepBundle writes the bundle of a page of hits and says what is in it. Where
// the page holds text that is not shared, the file is for the owner alone.
func (a *app) keepBundle(res api.QueryResult, name string) error {
	if res.Bundle == "" {
		a.note("no bundle is written to %s: there is no hit to prove", name)
		return &exitError{api.CodeFailed.ExitCode()}
	}
	mode, private := fs.FileMode(0o644), 0
	for _, h := range res.Hits {
		if h.Source != "shared" {
			mode = 0o600
		}
		if h.Source == "crawl" {
			private++
		}
	}
	if err := writeWhole(name, []byte(res.Bundle), mode); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	if private > 0 {
		a.note("%s holds PRIVATE text: %s from the private crawl db; whoever gets the file can read it", name, plural(private, "passage"))
	}
	a.note("wrote %s (%s, %s); check it with: arborist-verify %s", name, plural(len(res.Hits), "hit"), byteSize(int64(len(res.Bundle))), name)
	return nil
}

// writeWhole writes a file whole or not at all. A file that stands there is
// replaced; what is no file, such as a device, is refused.
func writeWhole(name string, b []byte, mode fs.FileMode) error {
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		return usage(fmt.Errorf("%s is not a file", name), "name a file to write")
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".bundle-*") // for the owner alone
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
