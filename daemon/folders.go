package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"arborist/daemon/api"
)

// maxFolders is far more than the folders that somebody adds take, in bytes.
const maxFolders = 4 << 20

// folders says which folder of this machine a name stood for last, in the URIs of
// each corpus. It is known to its owner alone; URIs have nothing but the name.
type folders map[string]map[string]string

func (h Home) folders() string { return filepath.Join(h.Private(), "folders.json") }

func (h Home) readFolders() (all folders, err error) {
	b, err := readSmall(h.folders(), maxFolders)
	if errors.Is(err, fs.ErrNotExist) {
		return folders{}, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", h.folders(), err)
	}
	return all, nil
}

func (h Home) writeFolders(all folders) error {
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(h.folders(), append(b, '\n'))
}

// sameNames warns of folders whose documents get the same URIs, in one call or
// in two, and remembers those of this one: see docs/decisions/004-shared-uris.md.
// What it remembers only serves to warn, so a record that cannot be used begins anew.
// Corpus is the short name of one of our own.
func (n *Node) sameNames(req api.AddRequest, corpus string) (warnings []string, err error) {
	if req.BaseURI != "" {
		if len(req.Paths) > 1 {
			warnings = append(warnings, fmt.Sprintf("%d paths share --base-uri %s: files of the same name below them are versions of each other", len(req.Paths), req.BaseURI))
		}
		return warnings, nil
	}
	all, err := n.home.readFolders()
	if err != nil || all == nil {
		all = folders{}
	}
	if byOrigin := all[n.id+"/"+corpus]; byOrigin != nil { // a list of its own before
		delete(all, n.id+"/"+corpus)
		maps.Copy(byOrigin, all[corpus])
		all[corpus] = byOrigin
	}
	before, now := all[corpus], make(map[string]string)
	for _, path := range req.Paths {
		folder := filepath.Clean(path)
		info, err := os.Stat(folder)
		if err != nil {
			continue // it cannot be added
		}
		if !info.IsDir() {
			folder = filepath.Dir(folder)
		}
		name := filepath.Base(folder)
		other, again := now[name]
		switch {
		case again && other != folder:
			warnings = append(warnings, fmt.Sprintf(
				"%s and %s are both called %q: files of the same name in them are versions of each other; add one of them with --base-uri file:OTHER/", other, folder, name))
		case !again && before[name] != "" && before[name] != folder:
			warnings = append(warnings, fmt.Sprintf(
				"file:%s/ was %s before and is %s now: files of the same name are new versions of those; to keep both, add one with --base-uri file:OTHER/", name, before[name], folder))
		}
		now[name] = folder
	}
	if all[corpus] == nil {
		all[corpus] = make(map[string]string)
	}
	maps.Copy(all[corpus], now)
	return warnings, n.home.writeFolders(all)
}
