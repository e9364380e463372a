package corpus

import (
	"context"
	"database/sql"
	"fmt"
)

// maxStatement is the longest key statement that is kept, in bytes.
const maxStatement = 4 << 10

// Certify keeps a key statement with a corpus: the publisher's own word, under
// another key, on which key signs the corpus. Whoever re-serves the corpus
// hands it on. The store neither makes nor checks statements: it keeps the
// first one, so that what was served once stays as it was. It fails with
// [ErrNotFound].
func (s *Store) Certify(ctx context.Context, origin string, statement []byte) error {
	if len(statement) == 0 || len(statement) > maxStatement {
		return fmt.Errorf("certify corpus %.200q: a key statement of %d bytes, want 1 to %d", origin, len(statement), maxStatement)
	}
	err := s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE corpus SET statement = coalesce(statement, ?) WHERE id = ?", statement, l.id)
		return err
	})
	if err != nil {
		return fmt.Errorf("certify corpus %.200q: %w", origin, err)
	}
	return nil
}

// Statement returns the key statement of a corpus, verbatim. It fails with
// [ErrNotFound] where none is kept.
func (s *Store) Statement(ctx context.Context, origin string) (statement []byte, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		err := tx.QueryRowContext(ctx, "SELECT statement FROM corpus WHERE id = ?", l.id).Scan(&statement)
		if err == nil && statement == nil {
			err = fmt.Errorf("%w: no key statement is kept", ErrNotFound)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read key statement of corpus %.200q: %w", origin, err)
	}
	return statement, nil
}
