package daemon

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"arborist/crawl"
	"arborist/daemon/api"
	"arborist/shard"
)

// RestoreOptions says what to restore.
type RestoreOptions struct {
	Dir    string // the backup
	Home   Home   // where nothing may be yet
	DryRun bool   // verify the backup and write nothing
}

// RestoreResult says what was restored. Problems are what a quick check of the
// new home found; the home is there all the same.
type RestoreResult struct {
	Home     string    `json:"home"`
	Dir      string    `json:"dir"`
	PeerID   string    `json:"peer_id"`
	Made     time.Time `json:"made"` // when the backup began
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	DryRun   bool      `json:"dry_run"`
	Problems []string  `json:"problems"`
	Notes    []string  `json:"notes,omitempty"`
}

// Restore makes a home of a backup. Every byte is compared with the manifest
// while it is copied; the home gets its name at the very end, so that a restore
// that was cut short leaves no home. It refuses a folder that holds anything.
func Restore(ctx context.Context, opts RestoreOptions, fn api.ProgressFunc) (res RestoreResult, err error) {
	if fn == nil {
		fn = func(api.Progress) {}
	}
	m, err := readManifest(opts.Dir)
	if err != nil {
		return res, err
	}
	res = RestoreResult{Home: string(opts.Home), Dir: opts.Dir, PeerID: m.peer, Made: m.made,
		Files: len(m.files), Bytes: m.bytes, DryRun: opts.DryRun, Problems: []string{}}
	if err := refuseExisting(opts.Home); err != nil {
		return res, err
	}
	if opts.DryRun {
		return res, copyBackup(ctx, opts.Dir, "", m, fn)
	}
	work, release, err := restoreFolder(ctx, opts.Home)
	if err != nil {
		return res, explain(err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(string(work))
			err = explain(fmt.Errorf("restore %s to %s: %w", opts.Dir, opts.Home, err))
		}
		release()
	}()
	if err := copyBackup(ctx, opts.Dir, work, m, fn); err != nil {
		return res, err
	}
	fn(api.Progress{Stage: "check", Done: int64(len(m.files)), Total: int64(len(m.files)), Bytes: m.bytes})
	if err := quickCheck(ctx, work, opts.Home, &res); err != nil {
		return res, err
	}
	if err := syncTree(work); err != nil {
		return res, err
	}
	// A home that is there is empty, or it is not removed.
	if err := os.Remove(string(opts.Home)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return res, err
	}
	if err := os.Rename(string(work), string(opts.Home)); err != nil {
		return res, err
	}
	return res, shard.SyncFolder(filepath.Dir(string(opts.Home)))
}

// readManifest finds the manifest of a backup, without which there is none.
func readManifest(dir string) (m manifest, err error) {
	path := filepath.Join(dir, manifestName)
	b, err := readSmall(path, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return m, api.NewError(api.CodeInvalid, fmt.Errorf("restore %s: there is no %s: it is no backup, or one that was interrupted", dir, manifestName),
			"restore another one; an interrupted backup can be removed")
	}
	if err != nil {
		return m, explain(fmt.Errorf("restore: %w", err))
	}
	if m, err = parseManifest(b); err != nil {
		return m, api.NewError(api.CodeInvalid, fmt.Errorf("read %s: %w", path, err), "restore another backup")
	}
	return m, nil
}

func refuseExisting(home Home) error {
	entries, err := os.ReadDir(string(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		err = errors.New("something is there already, and nothing is replaced")
	}
	if err != nil {
		return api.NewError(api.CodeUsage, fmt.Errorf("restore to %s: %w", home, err), "move it away, or give another folder: arborist restore DIR --home OTHER")
	}
	return nil
}

// restoreFolder makes the folder beside the home in which a restore works, and
// locks it. What an interrupted one left there is removed.
func restoreFolder(ctx context.Context, home Home) (work Home, release func(), err error) {
	work = home + ".restoring"
	if entries, err := os.ReadDir(string(work)); err == nil && len(entries) > 0 {
		if _, err := os.Lstat(work.Lock()); err != nil {
			return "", nil, api.NewError(api.CodeUsage, fmt.Errorf("restore to %s: %s is there, and no restore made it", home, work), "move it away")
		}
	}
	if err := shard.MakeFolder(string(work)); err != nil {
		return "", nil, err
	}
	l, err := takeLock(ctx, work, lockWait)
	if err != nil {
		return "", nil, err
	}
	entries, err := os.ReadDir(string(work))
	for _, e := range entries {
		if path := filepath.Join(string(work), e.Name()); path != work.Lock() {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	if err != nil {
		return "", nil, errors.Join(err, l.release())
	}
	return work, func() { l.release() }, nil
}

// copyBackup copies the files of a backup, or only reads them where work is
// empty, and compares each with the manifest.
func copyBackup(ctx context.Context, dir string, work Home, m manifest, fn api.ProgressFunc) error {
	stage := "copy"
	if work == "" {
		stage = "verify"
	}
	var total int64
	for i, f := range m.files {
		n, sum, err := copyBackupFile(ctx, filepath.Join(dir, filepath.FromSlash(f.name)), work, f.name)
		if err != nil {
			return explain(fmt.Errorf("read %s of the backup: %w", f.name, err))
		}
		if sum != f.sum {
			return api.NewError(api.CodeInvalid, fmt.Errorf("restore %s: %s is not what the manifest says: its SHA-256 is %x, want %x", dir, f.name, sum, f.sum),
				"restore another backup")
		}
		total += n
		fn(api.Progress{Stage: stage, Done: int64(i + 1), Total: int64(len(m.files)), Bytes: total, Item: f.name})
	}
	if total != m.bytes {
		return api.NewError(api.CodeInvalid, fmt.Errorf("restore %s: its files have %d bytes, the manifest says %d", dir, total, m.bytes), "restore another backup")
	}
	return nil
}

func copyBackupFile(ctx context.Context, from string, work Home, name string) (n int64, sum [32]byte, err error) {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, sum, err
	}
	defer in.Close()
	if st, err := in.Stat(); err != nil || !st.Mode().IsRegular() {
		return 0, sum, errors.Join(err, errors.New("it is no regular file"))
	}
	h := sha256.New()
	out := io.Writer(h)
	if work != "" {
		path := filepath.Join(string(work), filepath.FromSlash(name))
		if err := shard.MakeFolder(filepath.Dir(path)); err != nil {
			return 0, sum, err
		}
		file, openErr := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if openErr != nil {
			return 0, sum, openErr
		}
		defer func() { err = errors.Join(err, file.Sync(), file.Close()) }()
		out = io.MultiWriter(h, file)
	}
	n, err = io.Copy(out, contextReader{ctx, in})
	return n, [32]byte(h.Sum(nil)), err
}

// quickCheck opens what was restored and says what is wrong with it.
func quickCheck(ctx context.Context, work, home Home, res *RestoreResult) (err error) {
	cfg, err := work.check()
	if err != nil {
		return err
	}
	if err := work.makeFolders(); err != nil {
		return err
	}
	if _, err := existingID(work); err != nil {
		return err
	}
	report := func(problem string) { res.Problems = append(res.Problems, problem) }
	shared, err := shard.OpenShared(work.Shards())
	if err != nil {
		return err
	}
	err = shared.QuickCheck(ctx, report)
	if infos, listErr := shared.Corpora().List(ctx); err == nil && listErr == nil {
		for _, c := range infos {
			if _, _, err := corpusSigners(work, c); c.Own && err != nil {
				report(fmt.Sprintf("corpus %s: %v", c.Origin, err))
			}
			if c.Own {
				err = errors.Join(err, unconfirm(work, c.Name, res.Made))
				res.Notes = append(res.Notes, fmt.Sprintf("corpus %s signs nothing until a follower has shown that nothing is missing, or you say so: arborist corpus confirm %s", c.Name, c.Name))
			}
		}
	}
	if err := errors.Join(err, shared.Close()); err != nil {
		return err
	}
	private, err := crawl.OpenPrivate(work.CrawlDB())
	if err != nil {
		return err
	}
	err = private.File().QuickCheck(ctx, report)
	if other := crawlDBPath(home, cfg); other != home.CrawlDB() {
		res.Notes = append(res.Notes, fmt.Sprintf("the crawl db is in %s, and config.toml or CRAWL_DB names %s: move it there, or correct that", home.CrawlDB(), other))
	}
	return errors.Join(err, private.Close())
}

// syncTree makes the names in a folder and below it durable.
func syncTree(home Home) error {
	return filepath.WalkDir(string(home), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return shard.SyncFolder(path)
	})
}
