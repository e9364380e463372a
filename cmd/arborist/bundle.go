package main

import (
	"fmt"
	"io/fs"

	"arborist/daemon/api"
	"arborist/proof"
)

// keepBundle writes the bundle of a page of hits and says what is in it. Where
// the page holds text that is not shared, the file is for the owner alone.
func (a *app) keepBundle(res api.QueryResult, name string) error {
	b, err := proof.ParseBundle([]byte(res.Bundle))
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
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
	file, err := a.form(b.MarshalText, b.MarshalJSON)
	if err != nil {
		return err
	}
	if err := writeWhole(name, file, mode); err != nil {
		return err
	}
	if private > 0 {
		a.note("%s holds PRIVATE text: %s from the private crawl db; whoever gets the file can read it", name, plural(private, "passage"))
	}
	a.note("wrote %s (%s, %s); check it with: arborist-verify%s %s", name, plural(len(res.Hits), "hit"), byteSize(int64(len(file))), bundleKeys(b), name)
	return nil
}

// noBundle is the error of a page without a hit to prove; nil where there is one.
func noBundle(req api.QueryRequest, res api.QueryResult, name string) *api.Error {
	if !req.Bundle || res.Bundle != "" {
		return nil
	}
	return api.NewError(api.CodeNotFound, fmt.Errorf("no bundle is written to %s: there is no hit to prove", name), "ask with fewer or other words")
}

// bundleKeys is what a check of the bundle needs: the key of each corpus in it.
func bundleKeys(b *proof.Bundle) (flags string) {
	for _, l := range b.Logs {
		if c, err := proof.ReadCheckpoint(l.Note); err == nil {
			flags += keyFlag(c.Origin)
		}
	}
	return flags
}

// keyFlag is the flag that checks a corpus, ready for a shell: an origin has no
// character that means anything to one.
func keyFlag(origin string) string { return ` --key "$(arborist corpus key ` + origin + `)"` }
