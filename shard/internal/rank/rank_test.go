package rank

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"
)

func open(t testing.TB) *sql.DB {
	t.Helper()
	// Twice, as every opened file does.
	for range 2 {
		if err := Register(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE VIRTUAL TABLE fts USING fts5(text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2')"); err != nil {
		t.Fatal(err)
	}
	return db
}

func tokens(t testing.TB, db *sql.DB, text string) Phrase {
	t.Helper()
	var blob []byte
	if err := db.QueryRow("SELECT arborist_tokens(?)", text).Scan(&blob); err != nil {
		t.Fatal(err)
	}
	words, err := Words(blob)
	if err != nil {
		t.Fatal(err)
	}
	return words
}

func TestTokensAreThoseOfTheIndex(t *testing.T) {
	db := open(t)
	if _, err := db.Exec("CREATE VIRTUAL TABLE words USING fts5vocab(fts, instance)"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"Running the quick multi-agent, Ünïcode", "C++ and 38.101", "日本語 text", "", "...", "a\x00b", "ﬁne e\u0301", strings.Repeat("long", 10_000),
		strings.Repeat("many words ", 5000), "sqlite3_open_v2", "don't", "😀 smile",
	} {
		if _, err := db.Exec("DELETE FROM fts"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("INSERT INTO fts (rowid, text) VALUES (1, ?)", text); err != nil {
			t.Fatal(err)
		}
		rows, err := db.Query("SELECT term FROM words ORDER BY offset")
		if err != nil {
			t.Fatal(err)
		}
		var want Phrase
		for rows.Next() {
			var w string
			if err := rows.Scan(&w); err != nil {
				t.Fatal(err)
			}
			want = append(want, w)
		}
		if got := tokens(t, db, text); !slices.Equal(got, want) {
			t.Errorf("%.40q: %d words %.60q, the index has %d %.60q", text, len(got), got, len(want), want)
		}
		var length int
		if err := db.QueryRow("SELECT arborist_length(sz) FROM fts_docsize").Scan(&length); err != nil || length != len(want) {
			t.Errorf("%.40q: length %d, %v; want %d", text, length, err, len(want))
		}
	}
}

// fill puts n passages of few words into the table and returns their words.
func fill(t testing.TB, db *sql.DB, n int) []Phrase {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	var all []Phrase
	for i := range n {
		var words Phrase
		for range 1 + r.IntN(40) {
			words = append(words, string(rune('a'+min(r.IntN(26), r.IntN(26)))))
		}
		if _, err := db.Exec("INSERT INTO fts (rowid, text) VALUES (?, ?)", i+1, strings.Join(words, " ")); err != nil {
			t.Fatal(err)
		}
		all = append(all, words)
	}
	return all
}

// top runs both rounds on one table, as the caller does.
func top(t testing.TB, db *sql.DB, match string, s Statistics, keep int, floor float64, skips []byte) (int64, []Row) {
	t.Helper()
	var blob []byte
	err := db.QueryRow("SELECT arborist_top(id, score, ?4) FROM (SELECT rowid AS id, arborist_score(fts, ?2, ?3) AS score FROM fts WHERE fts MATCH ?1 LIMIT -1)",
		match, s.Params(keep, floor), skips, keep).Scan(&blob)
	if err != nil {
		t.Fatal(err)
	}
	matched, rows, err := Top(blob)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		if a.Score != b.Score {
			if a.Score > b.Score {
				return -1
			}
			return 1
		}
		return int(a.ID - b.ID)
	})
	return matched, rows
}

func TestTopRowsAreTheBestOfAllToTheBit(t *testing.T) {
	db := open(t)
	docs := fill(t, db, 700)
	phrases := []Phrase{{"c"}, {"k", "b"}, {"z"}}
	skipped := []Range{{First: 30, End: 60}, {First: 300, End: 301}, {First: 690, End: 5000}, {First: 300, End: 301}}
	for _, skips := range [][]Range{nil, skipped} {
		isSkipped := func(id int) bool {
			return slices.ContainsFunc(skips, func(r Range) bool { return int64(id) >= r.First && int64(id) < r.End })
		}
		s := Statistics{Rows: make([]int64, len(phrases))}
		for i, words := range docs {
			if isSkipped(i + 1) {
				continue
			}
			s.Passages++
			s.Words += int64(len(words))
			for j, p := range phrases {
				if p.Count(words) > 0 {
					s.Rows[j]++
				}
			}
		}
		const match = `"c" OR "k b" OR "z"`
		var blob []byte
		if err := db.QueryRow("SELECT arborist_df(fts, ?2) FROM fts WHERE fts MATCH ?1 LIMIT 1", match, Skips(skips)).Scan(&blob); err != nil {
			t.Fatal(err)
		}
		if rows, err := Rows(blob, len(phrases)); err != nil || !slices.Equal(rows, s.Rows) {
			t.Errorf("rows of the phrases %v, %v; want %v", rows, err, s.Rows)
		}
		var want []Row
		idf := s.IDF()
		for i, words := range docs {
			counts := make([]int, len(phrases))
			any := false
			for j, p := range phrases {
				counts[j] = p.Count(words)
				any = any || counts[j] > 0
			}
			if any && !isSkipped(i+1) {
				want = append(want, Row{ID: int64(i + 1), Score: s.Score(idf, counts, len(words))})
			}
		}
		slices.SortStableFunc(want, func(a, b Row) int {
			switch {
			case a.Score > b.Score:
				return -1
			case a.Score < b.Score:
				return 1
			}
			return 0
		})
		for _, keep := range []int{1, 2, 10, 100, len(want), 10_000} {
			best := slices.Clone(want)
			if keep < len(best) {
				least := best[keep-1].Score
				best = slices.DeleteFunc(best, func(r Row) bool { return r.Score < least })
			}
			matched, rows := top(t, db, match, s, keep, 0, Skips(skips))
			if matched != int64(len(want)) {
				t.Errorf("keep %d: %d rows matched, want %d", keep, matched, len(want))
			}
			if !slices.Equal(rows, best) {
				t.Errorf("keep %d: %d rows differ from the %d best", keep, len(rows), len(best))
			}
			// A floor drops what is below it and nothing at it.
			floor := best[len(best)/2].Score
			at := slices.DeleteFunc(slices.Clone(best), func(r Row) bool { return r.Score < floor })
			if _, rows := top(t, db, match, s, keep, floor, Skips(skips)); !slices.Equal(rows, at) {
				t.Errorf("keep %d above a floor: %d rows, want %d", keep, len(rows), len(at))
			}
		}
	}
}

func TestThousandsOfTiesAreAllKept(t *testing.T) {
	db := open(t)
	const n = 5000
	for i := range n {
		if _, err := db.Exec("INSERT INTO fts (rowid, text) VALUES (?, 'a b')", i+1); err != nil {
			t.Fatal(err)
		}
	}
	s := Statistics{Passages: n, Words: 2 * n, Rows: []int64{n}}
	if matched, rows := top(t, db, "a", s, 3, 0, Skips(nil)); matched != n || len(rows) != n {
		t.Errorf("%d matched, %d kept, want all %d", matched, len(rows), n)
	}
	if matched, rows := top(t, db, "nothing", s, 3, 0, Skips(nil)); matched != 0 || len(rows) != 0 {
		t.Errorf("nothing: %d matched, %d kept", matched, len(rows))
	}
}

func TestBadParametersAreErrors(t *testing.T) {
	db := open(t)
	fill(t, db, 20)
	s := Statistics{Passages: 20, Words: 200, Rows: []int64{10}}
	good, two := s.Params(5, 0), Statistics{Passages: 20, Words: 200, Rows: []int64{10, 5}}.Params(5, 0)
	huge := slices.Clone(good)
	binary.NativeEndian.PutUint64(huge, 1<<40)
	zero := slices.Clone(good)
	binary.NativeEndian.PutUint64(zero, 0)
	for name, args := range map[string][]any{
		"no parameters":    {[]byte{}, []byte{}},
		"cut":              {good[:len(good)-1], []byte{}},
		"too long":         {append(slices.Clone(good), 0), []byte{}},
		"two phrases":      {two, []byte{}},
		"keep of 2^40":     {huge, []byte{}},
		"keep of 0":        {zero, []byte{}},
		"odd skips":        {good, []byte{1, 2, 3}},
		"text for numbers": {"text", ""},
		"nothing":          {nil, nil},
	} {
		var score sql.NullFloat64
		if err := db.QueryRow("SELECT arborist_score(fts, ?, ?) FROM fts WHERE fts MATCH 'a'", args...).Scan(&score); err == nil {
			t.Errorf("%s: score %v", name, score)
		}
	}
	for _, query := range []string{
		"SELECT arborist_score(fts) FROM fts WHERE fts MATCH 'a'",
		"SELECT arborist_df(fts) FROM fts WHERE fts MATCH 'a'",
		"SELECT arborist_df(fts, x'00') FROM fts WHERE fts MATCH 'a'",
		"SELECT arborist_top(1, 1.0, 0)",
		"SELECT arborist_top(1, 1.0, 'x')",
		"SELECT arborist_top(1, 1.0, 1 << 50)",
		"SELECT arborist_length('')",
		"SELECT arborist_length(NULL)",
		"SELECT arborist_length(x'ffffffffff')",
		"SELECT arborist_length(x'0101')",
		// Functions that only this program calls must not be reached from a schema.
		"CREATE VIEW v AS SELECT arborist_harden() AS x; SELECT x FROM v",
		"CREATE TABLE g (a, b AS (arborist_tokens(a))); INSERT INTO g (a) VALUES (1); SELECT b FROM g",
	} {
		var v any
		if err := db.QueryRow(query).Scan(&v); err == nil {
			t.Errorf("%s: %v", query, v)
		}
	}
}

func TestHardenedConnectionsRefuseWhatASchemaCouldDo(t *testing.T) {
	db := open(t)
	if _, err := db.Exec("CREATE TABLE c (x); CREATE VIEW v AS SELECT 1; CREATE TRIGGER r AFTER INSERT ON c BEGIN DELETE FROM c; END"); err != nil {
		t.Fatal(err)
	}
	var ok int
	for range 2 {
		if err := db.QueryRow("SELECT arborist_harden()").Scan(&ok); err != nil || ok != 1 {
			t.Fatal(ok, err)
		}
	}
	for _, query := range []string{
		"SELECT * FROM v", "INSERT INTO fts_data VALUES (99, x'00')", "DELETE FROM fts_idx",
		"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'x'", `SELECT "no such column"`,
	} {
		if _, err := db.Exec(query); err == nil {
			t.Errorf("%s: went through", query)
		}
	}
	var n int
	if _, err := db.Exec("INSERT INTO c VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow("SELECT count(*) FROM c").Scan(&n); err != nil || n != 1 {
		t.Errorf("the trigger ran: %d rows, %v", n, err)
	}
}

func TestCutResultsAreErrors(t *testing.T) {
	for _, b := range [][]byte{{1}, {1, 0, 0, 0}, {255, 255, 255, 255, 'a'}} {
		if w, err := Words(b); err == nil {
			t.Errorf("words of %v: %q", b, w)
		}
	}
	if _, err := Rows(make([]byte, 9), 1); err == nil {
		t.Error("rows of 9 bytes")
	}
	bad := make([]byte, 32)
	for _, b := range [][]byte{nil, make([]byte, 15), make([]byte, 24), bad} {
		if _, _, err := Top(b); err == nil {
			t.Errorf("top of %v", b)
		}
	}
}

func TestStatisticsAddUpInAnyOrder(t *testing.T) {
	parts := []Statistics{{10, 100, []int64{1, 2}}, {5, 50, []int64{0, 5}}, {0, 0, []int64{0, 0}}}
	var a, b Statistics
	for i := range parts {
		a.Add(parts[i])
		b.Add(parts[len(parts)-1-i])
	}
	if fmt.Sprint(a) != fmt.Sprint(b) || !bytes.Equal(a.Params(3, 0), b.Params(3, 0)) {
		t.Errorf("%v and %v", a, b)
	}
	if avg := (Statistics{}).Average(); avg != 1 {
		t.Errorf("average of nothing %v", avg)
	}
	for _, w := range (Statistics{Passages: 10, Rows: []int64{0, 5, 10}}).IDF() {
		if !(w > 0) || math.IsInf(w, 0) {
			t.Errorf("weight %v", w)
		}
	}
}
