package corpus

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each kind of damage to the file is found, and none of it is served as a
// proof. The statements are what a bad disk, a bug or a hand could have done.
func TestCheckFindsEveryDamage(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	m.write(m.recs[5].Withdrawal(testTime))
	r := listed(m.recs[6].URI, "second")
	r.Op, r.Supersedes = "supersede", m.recs[6].ID
	m.write(r)
	fork := newModelOf(t, "main", 0)
	for _, r := range numbered(50, 5000) {
		fork.write(r)
	}
	for _, damage := range []string{
		"UPDATE record SET line = replace(line, 'Title', 'title') WHERE idx = 17",
		"UPDATE record SET line = CAST('{}' AS BLOB) WHERE idx = 17",
		"UPDATE record SET root = zeroblob(32) WHERE idx = 17",
		"UPDATE record SET root = x'' WHERE idx = 17",
		"UPDATE record SET id = zeroblob(32) WHERE idx = 17",
		"UPDATE record SET uri = zeroblob(16) WHERE idx = 17",
		"UPDATE record SET ended = 300 WHERE idx = 17",
		"UPDATE record SET ended = 301 WHERE idx = 5",
		"UPDATE record SET ended = 9223372036854775807 WHERE idx = 5",
		"UPDATE record SET ended = 9223372036854775807 WHERE idx = 300",
		"UPDATE record SET ended = 4 WHERE idx = 17",
		"DELETE FROM record WHERE idx = 17",
		"DELETE FROM record WHERE idx = 301",
		"DELETE FROM record",
		"UPDATE record SET idx = 302 WHERE idx = 301",
		"UPDATE tile SET hashes = zeroblob(8192) WHERE level = 0 AND idx = 0",
		"UPDATE tile SET hashes = zeroblob(32) WHERE level = 1",
		"UPDATE tile SET hashes = substr(hashes, 1, 32) WHERE level = 0 AND idx = 1",
		"UPDATE tile SET hashes = hashes || zeroblob(32) WHERE level = 0 AND idx = 1",
		"DELETE FROM tile WHERE level = 0 AND idx = 0",
		"INSERT INTO tile SELECT corpus, 2, 0, hashes FROM tile WHERE level = 1",
		"UPDATE record SET idx = -73 WHERE idx = 100",
		"UPDATE record SET ended = -1 WHERE idx = 100",
		"UPDATE corpus SET size = 301",
		"UPDATE corpus SET size = 303, staged = 303",
		"UPDATE corpus SET staged = 301",
		"UPDATE corpus SET root = zeroblob(32)",
		"UPDATE corpus SET note = NULL",
		"UPDATE corpus SET note = replace(CAST(note AS TEXT), '302', '301')",
		"UPDATE corpus SET note = CAST(replace(CAST(note AS TEXT), '302', '301') AS BLOB)",
		"UPDATE corpus SET key = replace(key, 'main', 'nain')",
		"UPDATE corpus SET documents = documents + 1",
		"UPDATE corpus SET staged_documents = 0",
		"UPDATE corpus SET seen = note",
		"UPDATE corpus SET seen = x'00'",
		"UPDATE corpus SET frozen = NULL WHERE 0; UPDATE corpus SET frozen = 99",
		"UPDATE evidence SET kind = 1; UPDATE corpus SET frozen = (SELECT min(id) FROM evidence)",
	} {
		t.Run(damage, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "corpora.db")
			s := openTest(t, path)
			followTo(t, s, m, m.size())
			if _, err := s.Extend(ctx, m.origin(), m.note(30), nil); !errors.Is(err, ErrRollback) {
				t.Fatal(err)
			}
			checkStore(t, s)
			db := raw(t, path)
			if _, err := db.Exec(damage); err != nil {
				if strings.Contains(err.Error(), "cannot store TEXT") {
					return // a STRICT table refuses it
				}
				t.Fatal(err)
			}
			db.Close()
			var problems []string
			_, err := s.Check(ctx, func(p string) { problems = append(problems, p) })
			if err == nil && len(problems) == 0 {
				t.Error("not found")
			}
			if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("not called damage, so that no repair follows: %v", err)
			}
			if len(problems) > maxProblems+2 {
				t.Errorf("%d problems are reported one by one", len(problems))
			}
			for _, i := range []int{5, 6, 17, 280, 301} {
				if part, err := s.Prove(ctx, m.origin(), m.recs[i].Header.Root); err == nil && len(part.Note) > 0 && !strings.Contains(damage, "note") {
					m.checkPart(t, part, 302)
				}
			}
		})
	}
}

// A torn tile must not become a signed head.
func TestAppendRefusesADamagedTree(t *testing.T) {
	s, m := newOwn(t)
	appendBoth(t, s, m, numbered(300, 0)...)
	if _, err := s.write.Exec("UPDATE tile SET hashes = zeroblob(length(hashes)) WHERE level = 0 AND idx = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(context.Background(), m.origin(), m.signer, numbered(1, 300)); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("append on a damaged tree: %v", err)
	}
}

// SQLite's own check looks at no index of a table without rows: where its page is of
// another kind, whatever reads it fails, and no check may say that all is well.
func TestCheckSeesAnUnreadableIndexOfAnEmptyTable(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.db")
	s := openTest(t, whole)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	roots := make(map[string]int64)
	db := sql.OpenDB(plainConnector("file:" + whole))
	defer db.Close()
	rows, err := db.Query("SELECT name, rootpage FROM sqlite_schema WHERE type = 'index'")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name string
		var root int64
		if err := rows.Scan(&name, &root); err != nil {
			t.Fatal(err)
		}
		roots[name] = root
	}
	if err := rows.Err(); err != nil || len(roots) < 5 {
		t.Fatalf("%d indexes, %v", len(roots), err)
	}
	for name, root := range roots {
		damaged := filepath.Join(t.TempDir(), "damaged.db")
		b := bytes.Clone(content)
		b[(root-1)*4096] = 13 // a leaf of a table
		if err := os.WriteFile(damaged, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(damaged)
		if err != nil {
			continue // said at once
		}
		var problems []string
		_, err = s.Check(t.Context(), func(p string) { problems = append(problems, p) })
		if len(problems) == 0 && err == nil {
			t.Errorf("%s: nothing is found", name)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
