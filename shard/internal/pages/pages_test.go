package pages

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"
)

var limits = Limits{PageSize: 4096, MaxRow: 1 << 20}

type connector string

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(string(c)) }
func (connector) Driver() driver.Driver                          { return &sqlite3.SQLiteDriver{} }

func open(t testing.TB, path string) *sql.DB {
	t.Helper()
	db := sql.OpenDB(connector("file:" + path))
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

const schema = `CREATE TABLE plain (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, name TEXT NOT NULL, data BLOB) STRICT;
	CREATE INDEX plain_name ON plain (name);
	CREATE TABLE keyed (a INTEGER NOT NULL, b INTEGER NOT NULL, line BLOB NOT NULL, share REAL NOT NULL, PRIMARY KEY (a, b)) STRICT, WITHOUT ROWID;`

// aFile makes a file of rows of all sizes and returns how many there are, those of
// the index counted too.
func aFile(t testing.TB, pageSize, rows int) (path string, count int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.db")
	db := open(t, path)
	if _, err := db.Exec(fmt.Sprintf("PRAGMA page_size = %d; %s", pageSize, schema)); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	numbers := []int64{0, 1, -1, 127, -129, 1 << 20, -1 << 30, 1 << 40, -1 << 62}
	for i := range rows {
		data := make([]byte, r.IntN(60))
		if i%11 == 0 {
			data = make([]byte, pageSize/8+r.IntN(5*pageSize))
		}
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		var blob any = data
		if i%7 == 3 {
			blob = nil
		}
		_, err := tx.Exec("INSERT INTO plain VALUES (?, ?, ?, ?)", i*i-9, numbers[i%len(numbers)], fmt.Sprint("name ", i%50), blob)
		if err == nil {
			_, err = tx.Exec("INSERT INTO keyed VALUES (?, ?, ?, ?)", i%3, i, data, float64(i)/3)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// Some are deleted, so that there are free pages with rows on them.
	if _, err := tx.Exec("DELETE FROM plain WHERE id BETWEEN 400 AND 4000"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow("SELECT 2 * (SELECT count(*) FROM plain) + (SELECT count(*) FROM keyed) + (SELECT count(*) FROM sqlite_schema)").Scan(&count); err != nil {
		t.Fatal(err)
	}
	return path, count
}

func TestEachRowOfAWholeFileIsFound(t *testing.T) {
	for _, pageSize := range []int{512, 1024, 4096, 65536} {
		path, count := aFile(t, pageSize, 600)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		if err := Scan(bytes.NewReader(b), int64(len(b)), Limits{MaxRow: 1 << 20}, func(Row) error { found++; return nil }); err != nil {
			t.Fatal(err)
		}
		if found != count {
			t.Errorf("pages of %d bytes: %d rows, want %d", pageSize, found, count)
		}
		if want, got := tables(t, path), tables(t, gathered(t, path)); !reflect.DeepEqual(got, want) {
			t.Errorf("pages of %d bytes: other rows are gathered: %d and %d, want %d and %d", pageSize,
				len(got["plain"]), len(got["keyed"]), len(want["plain"]), len(want["keyed"]))
		}
	}
}

// gathered gathers the rows of a file into a new one.
func gathered(t testing.TB, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "to.db")
	db := open(t, to)
	if _, err := db.Exec(schema); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := Gather(t.Context(), path, limits, tx, []string{"plain", "keyed"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return to
}

// tables returns the rows of a file by table.
func tables(t testing.TB, path string) map[string][]string {
	t.Helper()
	db := open(t, path)
	all := make(map[string][]string)
	for _, table := range []string{"plain", "keyed"} {
		rows, err := db.Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			v := make([]any, 4)
			if err := rows.Scan(&v[0], &v[1], &v[2], &v[3]); err != nil {
				t.Fatal(err)
			}
			all[table] = append(all[table], text(v))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Each page of a file is lost in turn. Then exactly the rows on it are lost, and
// those that go on in it: over all pages as many as there are rows, and one more for
// each page that rows go on in. Such a page may also make another row of one.
func TestALostPageCostsTheRowsOnItAlone(t *testing.T) {
	const pageSize = 1024
	path, count := aFile(t, pageSize, 200)
	if _, err := open(t, path).Exec("VACUUM"); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := rowsOf(t, whole)
	if len(all) != count {
		t.Fatalf("%d rows, want %d", len(all), count)
	}
	lost, chained := 0, 0
	for page := range len(whole) / pageSize {
		b := bytes.Clone(whole)
		at := page * pageSize
		goesOn := whole[at] == 0 // the number of the next such page, which is below 1<<24
		if goesOn {
			chained++
		}
		clear(b[at : at+pageSize])
		left := rowsOf(t, b)
		for row := range all {
			if !left[row] {
				lost++
			}
		}
		for row := range left {
			if !all[row] && !goesOn {
				t.Errorf("page %d: a row that was never there: %.100q", page+1, row)
			}
		}
	}
	if chained == 0 || lost != count+chained {
		t.Errorf("%d rows are lost over all pages, want %d and %d", lost, count, chained)
	}
}

// text tells values apart.
func text(values []any) string {
	var b strings.Builder
	for _, v := range values {
		if blob, ok := v.([]byte); ok {
			v = string(blob)
		}
		fmt.Fprintf(&b, "%T %v,", v, v)
	}
	return b.String()
}

func rowsOf(t *testing.T, b []byte) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	err := Scan(bytes.NewReader(b), int64(len(b)), Limits{PageSize: 1024, MaxRow: 1 << 20}, func(r Row) error {
		all[fmt.Sprint(r.Indexed, r.ID, text(r.Values))] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Whatever the bytes are, a scan ends, and what it finds is no larger than it says.
func FuzzScan(f *testing.F) {
	path, _ := aFile(f, 512, 40)
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	for at := 0; at < len(b); at += len(b) / 40 { // a bit of each page
		f.Add(b, uint16(at), byte(1<<(at%8)))
	}
	f.Add(b[:3000], uint16(103), byte(0xff))
	f.Fuzz(func(t *testing.T, b []byte, at uint16, with byte) {
		b = bytes.Clone(b)
		if int(at) < len(b) {
			b[at] ^= with
		}
		const most = 5000
		read := &counter{r: bytes.NewReader(b)}
		err := Scan(read, int64(len(b)), Limits{PageSize: 512, MaxRow: most}, func(r Row) error {
			size := 0
			for _, v := range r.Values {
				switch v := v.(type) {
				case string:
					size += len(v)
				case []byte:
					size += len(v)
				}
			}
			if size > most || len(r.Values) > MaxColumns {
				t.Errorf("a row of %d bytes in %d columns", size, len(r.Values))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if limit := (overflowBudget + 2) * (len(b) + 512); read.n > limit {
			t.Errorf("%d bytes read of %d", read.n, len(b))
		}
	})
}

// A counter counts the bytes that are read.
type counter struct {
	r io.ReaderAt
	n int
}

func (c *counter) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(b, at)
	c.n += n
	return n, err
}
