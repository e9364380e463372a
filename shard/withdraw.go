package shard

import (
	"context"
	"database/sql"
	"fmt"

	"arborist/document"
)

// Withdraw ends the time of whatever is current at a URI of a corpus; nothing
// takes its place. The document stays stored and leaves the search where no
// other location of it is current. Durable on return; again it changes nothing.
func (s *Shared) Withdraw(ctx context.Context, corpus, uri string) error {
	release, err := take(ctx, s.turn)
	if err != nil {
		return fmt.Errorf("withdraw: %w", err)
	}
	defer release()
	s.gate.enter()
	defer s.gate.leave()
	versions, err := findNewest(ctx, s.files, arrivals([]document.Entry{{Location: document.Location{Corpus: corpus, URI: uri}}}))
	if err != nil {
		return fmt.Errorf("withdraw %.200q: %w", uri, err)
	}
	retire := make([][]retirement, len(s.files))
	for _, v := range versions[0] {
		if v.Current {
			retire[v.file] = append(retire[v.file], retirement{row: v.row, root: v.Root})
		}
	}
	err = each(len(s.files), func(i int) error {
		if len(retire[i]) == 0 {
			return nil
		}
		return s.files[i].Write(ctx, func(tx *sql.Tx) error { return s.files[i].apply(ctx, tx, nil, retire[i], indexNow) })
	})
	if err != nil {
		return fmt.Errorf("withdraw %.200q: %w", uri, err)
	}
	return nil
}

// withdrawStep is how many versions one transaction of WithdrawAll ends.
const withdrawStep = 1024

// WithdrawAll ends the time of everything that is current in a corpus, in steps
// that are each durable, and returns how many versions that were. The documents
// stay stored, as after [Shared.Withdraw]. Again it changes nothing.
func (s *Shared) WithdrawAll(ctx context.Context, corpus string) (ended int, err error) {
	select {
	case <-s.files[0].turn:
	case <-ctx.Done():
		return 0, fmt.Errorf("withdraw corpus %s: %w", corpus, ctx.Err())
	}
	defer func() { s.files[0].turn <- struct{}{} }()
	for _, f := range s.files {
		for {
			n, err := f.withdrawSome(ctx, corpus)
			ended += n
			if err != nil {
				return ended, fmt.Errorf("withdraw corpus %s: %w", corpus, err)
			}
			if n < withdrawStep {
				break
			}
		}
	}
	return ended, nil
}

func (f *File) withdrawSome(ctx context.Context, corpus string) (n int, err error) {
	err = f.Write(ctx, func(tx *sql.Tx) error {
		retire, err := currentOf(ctx, tx, corpus)
		if n = len(retire); err != nil || n == 0 {
			return err
		}
		return f.apply(ctx, tx, nil, retire, indexNow)
	})
	return n, err
}

// currentOf returns some of what is current in a corpus, to be ended.
func currentOf(ctx context.Context, tx queryer, corpus string) (retire []retirement, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT l.id, d.root FROM locations l
		JOIN origins o ON o.id = l.origin JOIN documents d ON d.id = l.document
		WHERE o.origin = ? AND l.current = 1 ORDER BY l.id LIMIT ?`, corpus, withdrawStep)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r retirement
		var root []byte
		if err := rows.Scan(&r.row, &root); err != nil {
			return nil, err
		}
		if len(root) != len(r.root) {
			return nil, corrupt("a root of %d bytes", len(root))
		}
		r.root = document.Root(root)
		retire = append(retire, r)
	}
	return retire, rows.Err()
}
