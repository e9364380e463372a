package shard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"arborist/document"
)

// ErrMostShards: a set has as many files as a set can have.
var ErrMostShards = errors.New("a set has at most 256 shards")

// A SplitProgress says how far a split has come.
type SplitProgress struct {
	Stage string // "copy", "check", then "switch"
	Done  int64  // documents
	Total int64
	Bytes int64 // of text
}

// A SplitResult says what a split did.
type SplitResult struct {
	Before, After int           // files of the set
	Documents     int64         // all of which have moved
	Waited        time.Duration // in which nothing was written
	Stopped       time.Duration // of that, in which nothing was read either
}

// drainTime is how long a split waits for searches and other reads to end
// before it takes the files from under them. Others wait meanwhile.
const drainTime = 10 * time.Second

// SplitRoom returns how many bytes have to be free for a split: the new files
// stand beside the old ones until the switch, with the logs of their making.
func (s *Shared) SplitRoom() (need int64) {
	s.gate.enter()
	defer s.gate.leave()
	for _, f := range s.files {
		need += 2 * sizeWithLog(f.path)
	}
	return need
}

// Split doubles the number of files: each document goes from file k into file
// 2k or 2k+1, by one more bit of its root, with its places and versions. Reads and
// writes go on while the new files are made and checked, every document hashed.
// Then writing waits while what was written since is brought over, and for the
// moment of the switch reading does. Searches find the same before and after, to
// the bit.
//
// A crash leaves the old set or the new one, whole: [OpenShared] ends a switch
// that was begun, and removes what a split before its switch has left. A document
// that is damaged, and whatever else Check would find, ends the split with
// [ErrCorrupt] and nothing changed. Progress may be nil.
func (s *Shared) Split(ctx context.Context, progress func(SplitProgress)) (SplitResult, error) {
	if progress == nil {
		progress = func(SplitProgress) {}
	}
	release, err := take(ctx, s.upkeep)
	if err != nil {
		return SplitResult{}, fmt.Errorf("split: %w", err)
	}
	defer release()
	// Nobody else changes the files while we have that token.
	sp := &split{set: s, dir: s.dir, total: 2 * len(s.files), progress: progress}
	if sp.total > MaxShards {
		return SplitResult{}, fmt.Errorf("split: %w", ErrMostShards)
	}
	if err := s.unbroken(); err != nil {
		return SplitResult{}, fmt.Errorf("split: %w", err)
	}
	res, err := sp.run(ctx)
	if err != nil {
		err = errors.Join(err, sp.abandon())
		return SplitResult{}, fmt.Errorf("split: %w", err)
	}
	return res, nil
}

// A split is one under way.
type split struct {
	set      *Shared
	dir      string
	total    int // files afterwards
	progress func(SplitProgress)
	counter  counter
	halves   []*halving // one for each old file
	switched bool
}

// path is where a new file is made.
func (sp *split) path(number int) string {
	return filepath.Join(sp.dir, fileName(number)+splitSuffix)
}

func (sp *split) run(ctx context.Context) (res SplitResult, err error) {
	if err := removeSplit(sp.dir); err != nil {
		return res, err
	}
	for _, f := range sp.set.files {
		st, err := f.Stats(ctx)
		if err != nil {
			return res, err
		}
		sp.counter.total += int64(st.Documents)
	}
	if err := sp.indexAll(ctx); err != nil {
		return res, err
	}
	if err := sp.make(); err != nil {
		return res, err
	}
	sp.counter.report = func(done, total, bytes int64) {
		sp.progress(SplitProgress{Stage: "copy", Done: done, Total: total, Bytes: bytes})
	}
	if err := each(len(sp.halves), func(k int) error { return sp.halves[k].copy(ctx, &sp.counter) }); err != nil {
		return res, err
	}
	sp.step()
	if err := sp.check(ctx); err != nil {
		return res, err
	}
	// What was written meanwhile, as far as it goes without anybody waiting.
	if err := sp.catchUp(ctx); err != nil {
		return res, err
	}
	release, err := take(ctx, sp.set.publishing, sp.set.turn)
	if err != nil {
		return res, err
	}
	defer release()
	began := time.Now()
	if err := errors.Join(sp.indexAll(ctx), sp.catchUp(ctx)); err != nil {
		return res, err
	}
	sp.step()
	for _, h := range sp.halves {
		n, err := h.compare(ctx)
		if err != nil {
			return res, err
		}
		res.Documents += n
	}
	sp.progress(SplitProgress{Stage: "switch", Done: res.Documents, Total: res.Documents})
	if res.Stopped, err = sp.change(); err != nil {
		return res, err
	}
	res.Before, res.After, res.Waited = sp.total/2, sp.total, time.Since(began)
	return res, nil
}

// step tells a test that a crash may come here.
func (sp *split) step() {
	if sp.set.atStep != nil {
		sp.set.atStep()
	}
}

// make makes the new files, empty.
func (sp *split) make() error {
	for k, f := range sp.set.files {
		h := &halving{from: f}
		sp.halves = append(sp.halves, h)
		for i := range h.to {
			number := 2*k + i
			path := sp.path(number)
			if err := create(path, KindShared, number, sp.total); err != nil {
				return named(path, err)
			}
			to, err := attachFile(path, KindShared, SchemaVersion, "")
			if err != nil {
				return named(path, err)
			}
			to.workshop = f.workshop
			h.to[i] = to
		}
	}
	return nil
}

// indexAll brings the index of the old files up to date: that of the new ones is.
func (sp *split) indexAll(ctx context.Context) error {
	return each(len(sp.set.files), func(k int) error { return sp.set.files[k].indexAll(ctx) })
}

// catchUp brings over what was written since.
func (sp *split) catchUp(ctx context.Context) error {
	return each(len(sp.halves), func(k int) error { return sp.halves[k].catchUp(ctx) })
}

// check checks the new files as Check does any, before anybody has to wait.
func (sp *split) check(ctx context.Context) error {
	var done int64
	for _, h := range sp.halves {
		for _, to := range h.to {
			var problem string
			n, err := to.Check(ctx, func(p string) { problem = p })
			if err == nil && problem != "" {
				err = corrupt("the new file is not what it must be: %s", problem)
			}
			if err != nil {
				return err
			}
			// Their logs go into them now, and not while everybody waits.
			var busy, frames, moved int
			if err := to.writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved); err != nil {
				return to.fail(err)
			}
			done += int64(n)
			sp.progress(SplitProgress{Stage: "check", Done: done, Total: sp.counter.total})
		}
	}
	return nil
}

// abandon removes what a split that failed has made.
func (sp *split) abandon() error {
	if sp.switched {
		return nil
	}
	var errs []error
	for _, h := range sp.halves {
		errs = append(errs, h.close())
	}
	return errors.Join(append(errs, removeSplit(sp.dir))...)
}

// side says which of the two new files holds a root.
func (h *halving) side(root document.Root) int {
	return route(root, 2*h.from.total) - 2*h.from.number
}
