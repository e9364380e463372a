package shard

import (
	"errors"
	"fmt"
	"path/filepath"
)

// CreateShared makes a folder with a set of empty shards, their number a power
// of two up to [MaxShards]. Where such a set is there, or a part of it after an
// interrupted call, it is completed; another number is refused with [ErrSet].
func CreateShared(dir string, shards int) error {
	if shards < 1 || shards > MaxShards || shards&(shards-1) != 0 {
		return fmt.Errorf("create shards: %d is not a power of two from 1 to %d", shards, MaxShards)
	}
	if err := createShared(dir, shards); err != nil {
		return fmt.Errorf("create shards in %s: %w", dir, err)
	}
	return nil
}

func createShared(dir string, shards int) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(MakeFolder(dir), settleFolder(dir)); err != nil {
		return err
	}
	there, err := shardNumbers(dir)
	if err != nil {
		return err
	}
	// First look at what is there: nothing may be added to another set.
	for number := range there {
		f, err := openShard(dir, number)
		if err != nil {
			return err
		}
		total := f.total
		if err := f.Close(); err != nil {
			return err
		}
		if total != shards {
			return fmt.Errorf("%w: a set of %d is there, %d were asked for; the number is chosen once", ErrSet, total, shards)
		}
	}
	for i := range shards {
		if there[i] {
			continue
		}
		path := filepath.Join(dir, fileName(i))
		if err := create(path, KindShared, i, shards); err != nil {
			return named(path, err)
		}
	}
	return nil
}

// SetSize returns how many files the set of a folder has by what they say,
// also where [CreateShared] was interrupted and has not made all of them; 0
// where it has made none. Where no file can be used, it is told by their names.
func SetSize(dir string) (int, error) {
	if err := settleFolder(dir); err != nil {
		return 0, err
	}
	there, err := shardNumbers(dir)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	var broken error
	for number := range there {
		f, err := openShard(dir, number)
		if err != nil && isBroken(err) {
			broken = err
			continue
		}
		if err != nil {
			return 0, err
		}
		return f.total, f.Close()
	}
	if n, err := countShards(dir); err == nil && broken != nil {
		return n, nil // told by their names
	}
	return 0, errors.Join(err, broken)
}
