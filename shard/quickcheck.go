package shard

import (
	"context"
	"errors"
	"fmt"

	"arborist/shard/internal/pages"
)

// QuickCheck reports what is wrong with the set without hashing any document:
// the structure of each file, its counters, the logs, and that what the logs
// of this node's own corpora list is stored. It takes a small part of the time
// of [Shared.Check] and changes nothing.
func (s *Shared) QuickCheck(ctx context.Context, report func(problem string)) error {
	release, err := take(ctx, s.upkeep)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	defer release()
	s.gate.enter()
	defer s.gate.leave()
	for _, f := range s.files {
		if err := f.QuickCheck(ctx, report); err != nil {
			return err
		}
	}
	if _, err := s.corpora.Check(ctx, report); err != nil {
		return err
	}
	return s.checkLogs(ctx, nil, report)
}

// QuickCheck is [Shared.QuickCheck] for one file.
func (f *File) QuickCheck(ctx context.Context, report func(problem string)) error {
	if f.broken != nil {
		report(f.Broken().Error())
		return nil
	}
	return f.view(ctx, func(tx queryer) error {
		c := &checker{file: f, tx: tx, report: func(format string, args ...any) {
			report(f.path + ": " + fmt.Sprintf(format, args...))
		}}
		err := c.lines(ctx, "database: %s", "PRAGMA quick_check(100)")
		if err == nil {
			err = pages.ReadIndexes(ctx, tx)
		}
		if err == nil {
			err = checkCounts(ctx, tx)
		}
		if errors.Is(damage(err), ErrCorrupt) {
			c.report("%v", err)
			return nil
		}
		return err
	})
}
