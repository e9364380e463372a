package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"arborist/daemon/api"
	"arborist/shard"
)

// maxKeys caps all small files that are held in memory while nothing is written.
const maxKeys = 16 << 20

// Backup implements [api.Keeper]. Every SQLite file is read from a snapshot of
// one moment, so documents and logs fit each other whatever is written
// meanwhile. The manifest comes last.
func (n *Node) Backup(ctx context.Context, req api.BackupRequest, fn api.ProgressFunc) (res api.BackupResult, err error) {
	if fn == nil {
		fn = func(api.Progress) {}
	}
	dir, err := n.backupFolder(req.Dir)
	if err != nil {
		return res, err
	}
	b := &backup{dir: dir, manifest: manifest{peer: n.id, made: time.Now().UTC().Truncate(time.Second)}}
	defer func() {
		if err = errors.Join(err, b.close()); err != nil {
			b.remove()
			err = explain(fmt.Errorf("back up %s to %s: %w", n.home, dir, err))
		}
	}()
	if err := b.hold(ctx, n); err != nil {
		return res, err
	}
	if err := b.copyAll(ctx, n.home, fn); err != nil {
		return res, err
	}
	if err := b.finish(); err != nil {
		return res, err
	}
	res = api.BackupResult{Dir: dir, PeerID: n.id, Made: b.manifest.made, Files: len(b.manifest.files), Bytes: b.manifest.bytes, LeftOut: []string{}}
	attached, err := n.attached.listed()
	if err != nil {
		n.log.Error("attached files are left out of the backup", "err", err) // status says it too
		return res, nil
	}
	for _, f := range attached {
		res.LeftOut = append(res.LeftOut, f.Path)
	}
	return res, nil
}

// backupFolder makes the folder of a new backup, or takes an empty one.
func (n *Node) backupFolder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	home, err := filepath.EvalSymlinks(string(n.home))
	if err != nil {
		return "", err
	}
	if err := shard.MakeFolder(dir); err != nil {
		return "", explain(fmt.Errorf("back up to %s: %w", dir, err))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(home, real); err == nil && (rel == "." || filepath.IsLocal(rel)) {
		return "", api.NewError(api.CodeUsage, fmt.Errorf("back up to %s: it is inside the home", dir), "give a folder elsewhere, best on another disk")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", explain(fmt.Errorf("back up to %s: %w", dir, err))
	}
	if len(entries) > 0 {
		return "", api.NewError(api.CodeUsage, fmt.Errorf("back up to %s: the folder is not empty", dir), "give a new folder for each backup, or remove what is in it")
	}
	return dir, nil
}

// A backup is one that is being written.
type backup struct {
	dir       string
	manifest  manifest
	snapshots []*shard.Snapshot // closed as they are copied
	names     []string          // of each of them, in the backup
	small     map[string][]byte // keys and configuration, by name
	made      []string          // files that were created
}

// hold takes what belongs together in one moment: the snapshots of shards and
// logs, keys and kept heads. The crawl db stands alone.
func (b *backup) hold(ctx context.Context, n *Node) (err error) {
	for tries := 0; ; tries++ {
		if tries == 100 {
			return errors.New("its keys change all the time")
		}
		if err = b.close(); err != nil {
			return err
		}
		before, err := readKeys(n.home)
		if err != nil {
			return err
		}
		b.snapshots, err = n.shared.Snapshots(ctx, func() (err error) {
			b.small, err = readKeys(n.home)
			return err
		})
		if err != nil {
			return err
		}
		// A key that changes does not wait for us: keys and logs are taken from
		// a time in which the keys stayed the same.
		if equalFiles(before, b.small) {
			break
		}
	}
	// What is known of peers changes all the time and belongs to no key.
	peers, err := readSmall(n.home.Peers(), maxKeys)
	if err == nil {
		b.small["peers.json"] = peers
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.names = nil
	for _, s := range b.snapshots {
		b.names = append(b.names, "shards/"+filepath.Base(s.Path()))
	}
	crawl, err := n.private.File().Snapshot(ctx)
	if err != nil {
		return err
	}
	b.snapshots, b.names = append(b.snapshots, crawl), append(b.names, "crawl/web.db")
	return nil
}

// readKeys reads the configuration and everything in the folder of keys.
func readKeys(home Home) (map[string][]byte, error) {
	files := make(map[string][]byte)
	config, err := readSmall(home.Config(), maxConfig)
	if err != nil {
		return nil, err
	}
	files["config.toml"] = config
	entries, err := os.ReadDir(home.Keys())
	if err != nil {
		return nil, err
	}
	total := 0
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasSuffix(e.Name(), ".new") {
			continue // the latter is a file that is being replaced
		}
		b, err := readSmall(filepath.Join(home.Keys(), e.Name()), maxKeys)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the second reading will differ
		}
		if err != nil {
			return nil, err
		}
		if total += len(b); total > maxKeys {
			return nil, fmt.Errorf("%s holds over %d bytes", home.Keys(), maxKeys)
		}
		files["keys/"+e.Name()] = b
	}
	return files, nil
}

func equalFiles(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for name, data := range a {
		other, ok := b[name]
		if !ok || !bytes.Equal(data, other) {
			return false
		}
	}
	return true
}

// copyAll writes every file but the manifest.
func (b *backup) copyAll(ctx context.Context, home Home, fn api.ProgressFunc) error {
	for name, data := range b.small {
		if err := b.write(name, bytes.NewReader(data)); err != nil {
			return err
		}
	}
	loose, err := looseFiles(home)
	if err != nil {
		return err
	}
	total := int64(len(b.snapshots) + len(loose))
	var done, written int64
	for i, s := range b.snapshots {
		err := b.copy(ctx, s, b.names[i], func(now int64) {
			fn(api.Progress{Stage: "copy", Done: done, Total: total, Bytes: written + now, Item: b.names[i]})
		})
		if err != nil {
			return err
		}
		done, written = done+1, b.manifest.bytes
	}
	for _, name := range loose {
		if err := b.copyLoose(ctx, home, name); err != nil {
			return err
		}
		done++
		fn(api.Progress{Stage: "copy", Done: done, Total: total, Bytes: b.manifest.bytes, Item: name})
	}
	return nil
}

// looseFiles lists what is in the folders of private and evidence files.
func looseFiles(home Home) (names []string, err error) {
	for _, folder := range []string{home.Private(), home.Evidence()} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			name, err := filepath.Rel(string(home), path)
			if err == nil && !isSidecar(path) {
				names = append(names, filepath.ToSlash(name))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// isSidecar reports whether a file belongs to the SQLite file beside it, whose
// snapshot has what is in it.
func isSidecar(path string) bool {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if main, ok := strings.CutSuffix(path, suffix); ok && isSQLite(main) {
			return true
		}
	}
	return false
}

func isSQLite(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [16]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "SQLite format 3\x00"
}

// copyLoose copies a file as it is, an SQLite file from a snapshot. What is in
// quarantine is evidence of damage and stays as it is.
func (b *backup) copyLoose(ctx context.Context, home Home, name string) error {
	path := filepath.Join(string(home), filepath.FromSlash(name))
	if isSQLite(path) && !strings.HasPrefix(name, "private/quarantine/") {
		s, err := shard.HoldFile(ctx, path)
		if err != nil {
			return err
		}
		return errors.Join(b.copy(ctx, s, name, nil), s.Close())
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed since
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return b.write(name, contextReader{ctx, f})
}

// prepare makes the folder of a file.
func (b *backup) prepare(name string) (string, error) {
	if err := checkBackupName(name); err != nil {
		return "", api.NewError(api.CodeFailed, fmt.Errorf("back up %s: its name has something that a manifest cannot hold", name), "rename it")
	}
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	return path, shard.MakeFolder(filepath.Dir(path))
}

// copy writes a snapshot and closes it.
func (b *backup) copy(ctx context.Context, s *shard.Snapshot, name string, progress func(int64)) error {
	path, err := b.prepare(name)
	if err != nil {
		return err
	}
	if err := s.CopyTo(ctx, path, progress); err != nil {
		return err
	}
	b.made = append(b.made, path)
	if err := s.Close(); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return b.record(name, io.Discard, contextReader{ctx, f})
}

// write writes a file that is read once.
func (b *backup) write(name string, r io.Reader) error {
	path, err := b.prepare(name)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	b.made = append(b.made, path)
	return errors.Join(b.record(name, f, r), f.Sync(), f.Close())
}

// record copies from r to w and lists the bytes in the manifest.
func (b *backup) record(name string, w io.Writer, r io.Reader) error {
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(w, h), r)
	if err != nil {
		return err
	}
	b.manifest.bytes += size
	b.manifest.files = append(b.manifest.files, manifestFile{name, [32]byte(h.Sum(nil))})
	return nil
}

// finish makes the names durable and then writes the manifest.
func (b *backup) finish() error {
	folders := []string{b.dir}
	for _, path := range b.made {
		for dir := filepath.Dir(path); dir != b.dir; dir = filepath.Dir(dir) {
			folders = append(folders, dir)
		}
	}
	slices.Sort(folders)
	for _, dir := range slices.Compact(folders) {
		if err := shard.SyncFolder(dir); err != nil {
			return err
		}
	}
	return replaceFile(filepath.Join(b.dir, manifestName), b.manifest.encode())
}

// close ends the snapshots that are left.
func (b *backup) close() error {
	var errs []error
	for _, s := range b.snapshots {
		errs = append(errs, s.Close())
	}
	b.snapshots = nil
	return errors.Join(errs...)
}

// remove takes back what was written of a backup that failed, as far as it can:
// the manifest first, so that what is left is no backup.
func (b *backup) remove() {
	manifest := filepath.Join(b.dir, manifestName)
	for _, path := range append([]string{manifest, manifest + ".new"}, b.made...) {
		os.Remove(path)
		for dir := filepath.Dir(path); len(dir) > len(b.dir); dir = filepath.Dir(dir) {
			os.Remove(dir) // where it is empty
		}
	}
}

// A contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
