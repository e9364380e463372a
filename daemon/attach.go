package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"arborist/daemon/api"
	"arborist/shard"
)

// maxAttached is how many files can be attached: each query opens all of them.
const maxAttached = 1000

// Attach implements [api.Attacher]. Data first, reference after: a file counts
// from the moment that the list names it, and that is when all of its copy is
// verified and durable.
func (n *Node) Attach(ctx context.Context, path string) (res api.AttachResult, err error) {
	start := time.Now()
	if !filepath.IsAbs(path) {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("attach %q: not an absolute path", path), "")
	}
	path = filepath.Clean(path)
	if inside, err := filepath.Rel(string(n.home), path); err == nil && filepath.IsLocal(inside) {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("attach %s: it is in this home", path), "what is in this home is searched already")
	}
	if err := n.writable(); err != nil {
		return res, err
	}
	a := n.attached
	a.changing.Lock()
	defer a.changing.Unlock()
	list, err := a.listed()
	if err != nil {
		return res, err
	}
	old := slices.IndexFunc(list, func(f api.AttachedFile) bool { return f.Path == path })
	if old < 0 && len(list) >= maxAttached {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("attach %s: %d files are attached, and no more are taken", path, len(list)), "detach one: arborist detach FILE")
	}
	if err := shard.MakeFolder(a.dir); err != nil {
		return res, explain(err)
	}
	adopted, err := shard.Adopt(ctx, path, a.dir, n.cfg.attachLimit())
	if err != nil {
		return res, refusedFile("attach", err)
	}
	file := api.AttachedFile{
		Name: adopted.Name, Path: path, Kind: adopted.Kind.String(), Documents: adopted.Stats.Documents, Chunks: adopted.Stats.Chunks,
		Bytes: adopted.Stats.Bytes, FileBytes: adopted.FileBytes, AttachedAt: time.Now().UTC().Truncate(time.Second),
	}
	res = api.AttachResult{Migrated: adopted.Migrated, LogBeside: adopted.LogBeside, New: true}
	var gone []string
	list = slices.DeleteFunc(list, func(f api.AttachedFile) bool {
		if f.Path != path {
			if f.Name == file.Name { // the same bytes under another path are the same file
				res.New, res.SameAs = false, f.Path
			}
			return false
		}
		res.New = false
		if f.Name != file.Name {
			res.Replaced = true
			gone = append(gone, f.Name)
		}
		return true
	})
	if res.SameAs == "" {
		list = append(list, file)
	}
	if err := a.replace(list); err != nil {
		return res, explain(err)
	}
	res.AttachedFile, res.TookMS = file, time.Since(start).Milliseconds()
	for _, name := range gone {
		if err := a.remove(ctx, name); err != nil {
			return res, explain(err)
		}
	}
	return res, explain(a.drop(ctx, file.Name)) // it may be the same bytes, brought back
}

// refusedFile says what a refusal of a stranger's file means, in a call of verb.
func refusedFile(verb string, err error) error {
	err = fmt.Errorf("%s: %w", verb, err)
	switch {
	case errors.Is(err, shard.ErrTooLarge):
		return api.NewError(api.CodeUsage, err, "set max_bytes below [attach] in config.toml, if you trust it to be worth the space")
	case errors.Is(err, shard.ErrCorrupt):
		return api.NewError(api.CodeInvalid, err, "nothing of it was kept; get a whole copy, made while no program had the file open")
	case errors.Is(err, shard.ErrNotFound):
		return api.NewError(api.CodeNotFound, err, "see that the path is right, and that of a shard file, such as HOME/shards/00.db")
	}
	return explain(err)
}

// Detach implements [api.Attacher]. Queries that run have the file to their end.
func (n *Node) Detach(ctx context.Context, nameOrPath string) (api.AttachedFile, error) {
	a := n.attached
	a.changing.Lock()
	defer a.changing.Unlock()
	list, err := a.listed()
	if err != nil {
		return api.AttachedFile{}, err
	}
	i := slices.IndexFunc(list, func(f api.AttachedFile) bool {
		return f.Path == nameOrPath || f.Name == nameOrPath || f.Name == nameOrPath+".db"
	})
	if i < 0 {
		return api.AttachedFile{}, api.NewError(api.CodeNotFound, fmt.Errorf("detach %s: it is not attached", nameOrPath), "see which files are: arborist status")
	}
	file := list[i]
	if err := a.replace(slices.Delete(list, i, i+1)); err != nil {
		return api.AttachedFile{}, explain(err)
	}
	return file, explain(a.remove(ctx, file.Name))
}

// remove deletes a copy that the list no longer names, when the queries that
// have it have ended. What stays because of ctx, the next start of the node
// sweeps away.
func (a *attachments) remove(ctx context.Context, name string) error {
	if err := a.drop(ctx, name); err != nil {
		return nil
	}
	return errors.Join(os.Remove(filepath.Join(a.dir, name)), shard.SyncFolder(a.dir))
}

// sweep deletes what an attach or a detach that was cut short has left.
func (a *attachments) sweep() error {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		stem, staged := strings.CutSuffix(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "-wal"), "-shm"), "-journal"), ".new")
		staged = staged && len(stem) == 12
		unlisted := isCopyName(name) && !slices.ContainsFunc(a.list, func(f api.AttachedFile) bool { return f.Name == name })
		if staged || unlisted {
			if err := os.Remove(filepath.Join(a.dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
