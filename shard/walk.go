package shard

import (
	"database/sql"
	"errors"

	"arborist/shard/corpus"
)

// maxGap bounds the row IDs that a walk tries behind a damaged page.
const maxGap = int64(1) << 40

// walk calls next with each row of a table, by its ID. Where a page cannot be
// read it looks for the first ID behind it that can: for a row that is found,
// the query "the first row with a greater ID" works from everywhere in the gap
// behind the damage. A page that stands where another should may give a row that
// is not greater, which counts as one that cannot be read. next runs that query for an ID, handles its row and
// returns its ID; skipped is told the ends of each gap, the second one -1 where
// nothing behind can be read.
func walk(next func(after int64, look bool) (id int64, err error), skipped func(after, next int64)) error {
	last := int64(0)
	for {
		id, err := next(last, false)
		switch {
		case errors.Is(err, sql.ErrNoRows) || isNotFound(err):
			return nil
		case err == nil && id > last:
			last = id
			continue
		case err != nil && !corpus.IsMalformed(err):
			return err
		}
		works := func(after int64) (bool, error) {
			id, err := next(after, true)
			if err == nil && id > after || errors.Is(err, sql.ErrNoRows) || isNotFound(err) {
				return true, nil
			}
			if err == nil || corpus.IsMalformed(err) {
				return false, nil
			}
			return false, err
		}
		low, high := last, last
		for step := int64(1); ; step *= 2 {
			if step > maxGap {
				skipped(last, -1)
				return nil
			}
			high = last + step
			ok, err := works(high)
			if err != nil {
				return err
			}
			if ok {
				break
			}
			low = high
		}
		for low+1 < high {
			middle := low + (high-low)/2
			ok, err := works(middle)
			if err != nil {
				return err
			}
			if ok {
				high = middle
			} else {
				low = middle
			}
		}
		skipped(last, high)
		last = high
	}
}
