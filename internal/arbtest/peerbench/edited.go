package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// edited syncs a document of 16 MiB, the sources of Go, and then again after one in a
// hundred of its paragraphs was edited, and after a single one was. VERSIONS can name
// two folders, an older and a newer version of the same texts, which are synced too.
func (b *bench) edited() error {
	const size = 16 << 20
	text, err := goSources(size)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "edited")
	from, err := b.newNode("edited.from")
	if err != nil {
		return err
	}
	defer from.stop()
	to, err := b.newNode("edited.to")
	if err != nil {
		return err
	}
	defer to.stop()
	next := func(text []byte) (synced, error) {
		if err := writeDocument(dir, 0, text); err != nil {
			return synced{}, err
		}
		s, err := pass(dir, from, to)
		if err == nil && s.Documents != 1 {
			err = fmt.Errorf("%d documents came, want 1", s.Documents)
		}
		return s, err
	}
	whole, err := next(text)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("a document of %d MB, whole", size/1_000_000), cost(whole), "served + fetching")
	changed := edit(text, 100, 'x')
	s, err := next(text)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("  1 %% of its paragraphs edited (%d kB)", changed/1000), cost(s), "")
	row("  bytes sent / bytes changed", fmt.Sprintf("%.2f x; whole %.1f x", float64(s.wireSent)/float64(changed), float64(whole.wireSent)/float64(changed)), "<= 1.5 x")
	changed = edit(text, len(text), 'y')
	if s, err = next(text); err != nil {
		return err
	}
	row(fmt.Sprintf("  one paragraph edited (%d bytes)", changed), cost(s), "")
	if folders := strings.Fields(os.Getenv("VERSIONS")); len(folders) == 2 {
		return b.versions(folders[0], folders[1])
	}
	return nil
}

// versions syncs two versions of a folder, one after the other.
func (b *bench) versions(older, newer string) error {
	dir := filepath.Join(b.dir, "versions")
	from, err := b.newNode("versions.from")
	if err != nil {
		return err
	}
	defer from.stop()
	to, err := b.newNode("versions.to")
	if err != nil {
		return err
	}
	defer to.stop()
	for _, version := range []string{older, newer} {
		if err := errors.Join(os.RemoveAll(dir), copyTexts(dir, version)); err != nil {
			return err
		}
		s, err := pass(dir, from, to)
		if err != nil {
			return err
		}
		row(fmt.Sprintf("%s: %d documents, %d kB of text received", filepath.Base(version), s.Documents, s.Bytes/1000), cost(s), "served + fetching")
	}
	return nil
}

// copyTexts copies Markdown and sources of Go, as files that are taken as they are.
func copyTexts(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || !d.Type().IsRegular() || ext != ".go" && ext != ".md" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || len(bytes.TrimSpace(content)) == 0 {
			return err
		}
		path = filepath.Join(to, strings.TrimPrefix(path, from)+".txt")
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644))
	})
}

// pass adds a folder to one node and has the other one sync.
func pass(dir string, from, to *node) (synced, error) {
	if err := from.add(dir); err != nil {
		return synced{}, err
	}
	return to.sync(from)
}

func cost(s synced) string {
	return fmt.Sprintf("%d kB sent in %d ms; CPU %.2f + %.2f s", s.wireSent/1000, s.Took, s.serverCPU, s.clientCPU)
}

// goSources returns so many bytes of the sources of the Go toolchain, file after file.
func goSources(size int) ([]byte, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var text []byte
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != ".go" {
			return err
		}
		content, err := os.ReadFile(path)
		if text = append(append(text, content...), '\n'); len(text) >= size {
			return fs.SkipAll
		}
		return err
	})
	if err == nil && len(text) < size {
		err = fmt.Errorf("the sources of Go have %d bytes, want %d", len(text), size)
	}
	return text[:min(len(text), size)], err
}

// edit puts a letter into the middle of one in so many paragraphs of a text, at least
// one, and returns how many bytes those paragraphs have.
func edit(text []byte, every int, letter byte) (changed int) {
	n := 0
	for paragraph := range bytes.SplitSeq(text, []byte("\n\n")) {
		if n%every == 50 && len(paragraph) > 0 {
			paragraph[len(paragraph)/2] = letter
			changed += len(paragraph)
		}
		n++
	}
	return changed
}
