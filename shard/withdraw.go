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
	select {
	case <-s.files[0].turn:
	case <-ctx.Done():
		return fmt.Errorf("withdraw: %w", ctx.Err())
	}
	defer func() { s.files[0].turn <- struct{}{} }()
	versions, err := findNewest(ctx, s.files, []document.Entry{{Location: document.Location{Corpus: corpus, URI: uri}}})
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
		return s.files[i].Write(ctx, func(tx *sql.Tx) error { return s.files[i].apply(ctx, tx, nil, retire[i]) })
	})
	if err != nil {
		return fmt.Errorf("withdraw %.200q: %w", uri, err)
	}
	return nil
}
