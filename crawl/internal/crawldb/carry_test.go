package crawldb

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/crawl/internal/frontier"
	"arborist/document"
	"arborist/shard"
)

// aCrawl makes a database with a crawl in its middle: pages that are stored, that wait
// to be stored, and that were not fetched yet.
func aCrawl(t *testing.T, path string) {
	t.Helper()
	db := open(t, path)
	c := begin(t, db, seed)
	var links []frontier.Link
	for i := range 150 {
		links = append(links, frontier.Link{URL: fmt.Sprintf("http://h/links/%03d/%s", i, strings.Repeat("x", 60)), Depth: 1})
	}
	for i := range 30 {
		raw := page(fmt.Sprintf("http://h/%d", i), strings.Repeat(fmt.Sprintf("<p>page %d. ", i), 120))
		fetched(t, c, raw, links[i*5:i*5+5]...)
		if i%2 == 0 {
			if _, err := db.Put(t.Context(), []document.Entry{entry(t, raw, strings.Repeat(fmt.Sprintf("page %d. ", i), 120))}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Note(t.Context(), []Check{{URL: raw.Location.URI, At: time.Unix(1700000000, 0), State: "fresh"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Add(t.Context(), links); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// rows are those of a table, one a line.
func rows(t *testing.T, db *DB, t1 carriedTable) (lines []string) {
	t.Helper()
	read, _ := t1.statements()
	found, err := db.file.Reader().Query(read)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	values, to := make([]any, len(t1.columns)), make([]any, len(t1.columns))
	for i := range values {
		to[i] = &values[i]
	}
	for found.Next() {
		if err := found.Scan(to...); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(values))
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

func everything(t *testing.T, path string) map[string][]string {
	t.Helper()
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := map[string][]string{}
	for _, table := range carried() {
		all[table.name] = rows(t, db, table)
	}
	return all
}

// Whichever page of a crawl db is lost or is another's, its repair succeeds, and a
// crawl goes on from what is there: no address is in it that was not, none belongs to a
// crawl or a page that is not there, and where all is said to be there it is.
func TestARepairKeepsTheFrontierThatCanBeRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web.db")
	aCrawl(t, path)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := everything(t, path)
	const pageSize = 4096
	repaired, kept, lost := 0, 0, 0
	for n := range len(whole) / pageSize {
		for kind, content := range map[string][]byte{"zeroed": make([]byte, pageSize), "another": whole[(n*7+3)%(len(whole)/pageSize)*pageSize:][:pageSize]} {
			damaged := bytes.Clone(whole)
			copy(damaged[n*pageSize:], content)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			var carried *Carried
			r := shard.Repair{Keep: func(shard.Lost) error { return nil }, Did: func(string) {}}
			r.Carry = func(ctx context.Context, old *sql.DB, fresh string) error {
				c, err := Carry(ctx, old, fresh)
				carried = &c
				return err
			}
			r.Usable = func(path string) error {
				db, err := Open(path)
				if err == nil {
					err = db.Close()
				}
				return err
			}
			if err := shard.SalvageFile(t.Context(), path, shard.KindPrivate, 0, 1, filepath.Join(dir, "aside"), r); err != nil {
				t.Errorf("page %d %s: %v", n, kind, err)
				continue
			}
			if carried == nil {
				continue // SQLite finds nothing wrong with it, or cannot read a row
			}
			repaired++
			after := everything(t, path)
			if carried.Addresses != len(after["frontier"]) || carried.Crawls != len(after["crawls"]) {
				t.Errorf("page %d %s: %+v, there are %d addresses", n, kind, *carried, len(after["frontier"]))
			}
			if carried.Whole {
				kept++
			} else {
				lost++
			}
			for table, was := range before {
				if carried.Whole && !slices.Equal(was, after[table]) {
					t.Errorf("page %d %s: %d rows of %s, all is said to be there, there were %d", n, kind, len(after[table]), table, len(was))
				}
				if len(after[table]) > len(was) {
					t.Errorf("page %d %s: %d rows of %s, there were %d", n, kind, len(after[table]), table, len(was))
				}
			}
			resumes(t, path, fmt.Sprintf("page %d %s", n, kind), carried.Crawls > 0)
		}
	}
	if repaired < 30 || kept < 10 || lost < 5 {
		t.Errorf("%d repairs, %d with all, %d with a part: too few to say anything", repaired, kept, lost)
	}
}

// resumes goes on with the crawl of a database as a crawler would.
func resumes(t *testing.T, path, image string, kept bool) {
	t.Helper()
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, broken := range []string{
		"SELECT count(*) FROM frontier WHERE crawl NOT IN (SELECT id FROM crawls)",
		"SELECT count(*) FROM frontier WHERE (state = 1) <> (id IN (SELECT entry FROM spool))",
		"SELECT count(*) FROM referrers WHERE page NOT IN (SELECT id FROM frontier)",
		"SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
	} {
		var n int
		if err := db.file.Reader().QueryRow(broken).Scan(&n); err != nil || n > 0 {
			t.Errorf("%s: %d rows of %s, %v", image, n, broken, err)
		}
	}
	if !kept {
		return
	}
	c, err := db.Resume(t.Context(), []string{seed}, 2)
	if err != nil {
		t.Errorf("%s: %v", image, err)
		return
	}
	defer c.Release()
	unstored(t, c)
	if _, err := c.Origins(t.Context()); err != nil {
		t.Errorf("%s: %v", image, err)
	}
}
