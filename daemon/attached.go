package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"arborist/daemon/api"
	"arborist/shard"
)

// Attachments are the foreign files that every query searches too: copies of
// ours in HOME/attached, and list.json there, which says which of them count.
type attachments struct {
	dir string
	// changing is held while a file is attached or detached, which may take
	// minutes; mu for moments, and while files are opened for the first time.
	changing sync.Mutex

	mu     sync.Mutex
	list   []api.AttachedFile       // guarded by mu; never changed in place
	broken error                    // guarded by mu; why list.json cannot be read
	open   map[string]*attachedFile // guarded by mu; by name
}

// An attachedFile is an open copy.
type attachedFile struct {
	file  *shard.File
	cache int  // bytes, as it was opened with
	uses  int  // guarded by attachments.mu; queries that have it
	gone  bool // guarded by attachments.mu; closed with its last use
	// closed is closed then.
	closed chan struct{}
}

// attachList is the JSON of list.json.
type attachList struct {
	Format int                `json:"format"`
	Files  []api.AttachedFile `json:"files"` // in the order of attaching
}

const (
	attachFormat  = 1
	maxAttachList = 8 << 20
	// attachedCache is the memory for index rows of all attached files together.
	attachedCache = 64 << 20
)

func (a *attachments) listFile() string { return filepath.Join(a.dir, "list.json") }

// openAttachments reads the list of a home. One that cannot be read keeps
// nothing else from working: status says it.
func openAttachments(home Home) *attachments {
	a := &attachments{dir: home.Attached(), open: map[string]*attachedFile{}}
	if a.list, a.broken = readAttachList(a.listFile()); a.broken == nil {
		if err := a.sweep(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.broken = err
		}
	}
	return a
}

func readAttachList(path string) ([]api.AttachedFile, error) {
	b, err := readSmall(path, maxAttachList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list attachList
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if list.Format != attachFormat || len(list.Files) > maxAttached {
		return nil, fmt.Errorf("read %s: format %d with %d files, want format %d with at most %d", path, list.Format, len(list.Files), attachFormat, maxAttached)
	}
	for _, f := range list.Files {
		if !isCopyName(f.Name) {
			return nil, fmt.Errorf("read %s: %.100q is no name of a copy", path, f.Name)
		}
	}
	return list.Files, nil
}

// isCopyName: 32 hexadecimal digits and ".db", as [shard.Adopt] names copies. A
// name in the list is never a path.
func isCopyName(name string) bool {
	stem, ok := strings.CutSuffix(name, ".db")
	return ok && len(stem) == 32 && strings.Trim(stem, "0123456789abcdef") == ""
}

// listed returns what is attached, for changing it: a copy of the list.
func (a *attachments) listed() ([]api.AttachedFile, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return nil, api.NewError(api.CodeInvalid, fmt.Errorf("the list of attached files: %w", a.broken),
			"bring it back from a backup; or move "+a.listFile()+" away and attach the files again")
	}
	return slices.Clone(a.list), nil
}

// replace makes a list the one that counts, durable on return.
func (a *attachments) replace(list []api.AttachedFile) error {
	b, err := json.MarshalIndent(attachList{attachFormat, list}, "", " ")
	if err != nil {
		return err
	}
	if err := replaceFile(a.listFile(), append(b, '\n')); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = list
	return nil
}

// acquire returns the attached files, opened, in the order of attaching, and
// those that cannot be. The caller calls release when it has done with them.
func (a *attachments) acquire() (files []*shard.File, failed []api.Failure, release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	cache := cacheOfEach(len(a.list))
	errs := make([]error, len(a.list))
	fresh := make([]*attachedFile, len(a.list))
	slots := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i, f := range a.list {
		if o := a.open[f.Name]; o != nil && o.cache == cache {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			var file *shard.File
			if file, errs[i] = shard.OpenAdopted(filepath.Join(a.dir, f.Name), cache); errs[i] == nil {
				fresh[i] = &attachedFile{file: file, cache: cache, closed: make(chan struct{})}
			}
		})
	}
	wg.Wait()
	var used []*attachedFile
	for i, f := range a.list {
		if fresh[i] != nil {
			a.retire(f.Name)
			a.open[f.Name] = fresh[i]
		}
		if errs[i] != nil {
			failed = append(failed, api.Failure{URI: f.Path, Error: errs[i].Error()})
			continue
		}
		o := a.open[f.Name]
		o.uses++
		used = append(used, o)
		files = append(files, o.file)
	}
	return files, failed, func() { a.release(used) }
}

func (a *attachments) release(used []*attachedFile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range used {
		if o.uses--; o.uses == 0 && o.gone {
			o.close()
		}
	}
}

func (o *attachedFile) close() {
	o.file.Close() // for reading: nothing can be lost
	close(o.closed)
}

// retire forgets an open file, under mu: what has it keeps it. The channel, nil
// where it is not open, is closed when nothing has it any more.
func (a *attachments) retire(name string) <-chan struct{} {
	o := a.open[name]
	if o == nil {
		return nil
	}
	delete(a.open, name)
	if o.gone = true; o.uses == 0 {
		o.close()
	}
	return o.closed
}

// drop makes the next query open a copy anew, if it is still listed, and waits
// for those that have it: SQLite may open the file by name once more until then.
func (a *attachments) drop(ctx context.Context, name string) error {
	a.mu.Lock()
	closed := a.retire(name)
	a.mu.Unlock()
	if closed == nil {
		return nil
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close closes everything. No query runs any more.
func (a *attachments) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.open {
		a.retire(name)
	}
}

// cacheOfEach shares the memory among the files. It changes rarely as files
// come and go, since all are opened anew when it does.
func cacheOfEach(files int) int {
	share := 1
	for share < files {
		share *= 2
	}
	return min(8<<20, attachedCache/share)
}
