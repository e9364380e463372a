package shard

import (
	"context"
	"database/sql"
	"fmt"
)

// An unended is a version that is current although a newer one stands at its
// place in another file.
type unended struct {
	retirement
	file     int
	location string
}

// heal ends what a crash between the two steps of a Put left: it retires, in
// every file, current versions that have a newer one in another.
func (s *Shared) heal(ctx context.Context, report func(string)) error {
	// No Put may run meanwhile: between its steps it looks like such a crash.
	release, err := take(ctx, s.turn)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	defer release()
	found, err := s.findUnended(ctx)
	if err != nil {
		return err
	}
	retire := make([][]retirement, len(s.files))
	for _, u := range found {
		retire[u.file] = append(retire[u.file], u.retirement)
	}
	return each(len(s.files), func(i int) error {
		if len(retire[i]) == 0 {
			return nil
		}
		if err := s.files[i].Write(ctx, func(tx *sql.Tx) error { return s.files[i].apply(ctx, tx, nil, retire[i], indexNow) }); err != nil {
			return err
		}
		for _, u := range found {
			if u.file == i {
				report(fmt.Sprintf("%s: repaired: %s was still current beside its newer version %s", s.files[i].path, u.location, u.by))
			}
		}
		return nil
	})
}

func (s *Shared) findUnended(ctx context.Context) ([]unended, error) {
	type top struct {
		unended
		seq int64
	}
	// One entry for each current location of the set: 16 bytes of place and a
	// little more.
	current := make(map[place]top)
	var found []unended
	for i, f := range s.files {
		rows, err := f.reader.QueryContext(ctx, "SELECT l.place, l.id, "+versionColumns+" FROM "+versionTables+" WHERE l.current = 1")
		if isUnreadable(damage(err)) {
			continue // the check of the file has said it
		}
		if err != nil {
			return nil, f.fail(err)
		}
		for rows.Next() {
			var raw []byte
			t := top{unended: unended{file: i}}
			v, err := scanVersion(func(into ...any) error { return rows.Scan(append([]any{&raw, &t.row}, into...)...) })
			if err != nil || len(raw) != len(place{}) {
				continue // Check has reported it
			}
			t.root, t.seq, t.location = v.Root, v.Seq, v.Location.URI
			old, ok := current[place(raw)]
			if ok && old.seq > t.seq {
				old, t = t, old
			}
			current[place(raw)] = t
			if ok {
				old.by = t.root
				found = append(found, old.unended)
			}
		}
		if err := rows.Err(); err != nil && !isUnreadable(damage(err)) {
			return nil, f.fail(err)
		}
	}
	return found, nil
}
