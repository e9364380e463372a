package corpus

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/merkle"
	"arborist/proof"
)

// everyKind makes a file with an own corpus that has changed its key, and
// followed ones: one that it is a witness of, one that is frozen, one of which it
// knows a head that it does not have, one that it has nothing of. The two longest
// have some n records.
func everyKind(t *testing.T, n int) (path string, m *model) {
	t.Helper()
	ctx := t.Context()
	m = newModelOf(t, "a", n)
	path = filepath.Join(t.TempDir(), "corpora.db")
	s := openTest(t, path)
	s.SetWitnesses(nil, testWitness(t, "me"))
	s.now = func() time.Time { return time.Unix(1700000000, 0) }
	old, next := testSigner(t, "main", 1), testSigner(t, "main", 2)
	if _, err := s.Create(ctx, "main", old.Verifier()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, old.Name(), old, numbered(20, 0)); err != nil {
		t.Fatal(err)
	}
	rotated(t, s, old, next)
	if _, err := s.Append(ctx, old.Name(), next, append(numbered(n-10, 20), withdrawal("https://example.org/7"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.MakeFilter(ctx, old.Name(), next), s.Certify(ctx, old.Name(), []byte("statement"))); err != nil {
		t.Fatal(err)
	}
	followTo(t, s, m, uint64(n))
	if err := s.Witness(ctx, m.origin(), true); err != nil {
		t.Fatal(err)
	}
	frozen := newModelOf(t, "frozen", 30)
	followTo(t, s, frozen, 20)
	liar := frozen.fork(10)
	for _, r := range numbered(20, 500) {
		liar.put(r)
	}
	if _, err := s.Extend(ctx, frozen.origin(), liar.note(20), nil); !errors.Is(err, ErrEquivocation) {
		t.Fatal(err)
	}
	ahead := newModelOf(t, "ahead", 30)
	followTo(t, s, ahead, 20)
	if _, err := s.RememberHead(ctx, ahead.origin(), ahead.note(30), ahead.consistency(20, 30)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Follow(ctx, testSigner(t, "nothing", 1).Verifier()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, m
}

// content returns every row of a file.
func content(t *testing.T, path string) map[string][]string {
	t.Helper()
	db := sql.OpenDB(plainConnector("file:" + path + "?mode=ro"))
	defer db.Close()
	all := make(map[string][]string)
	for _, table := range []string{"corpus", "record", "tile", "evidence", "witness", "rotation", "filter"} {
		rows, err := db.Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			all[table] = append(all[table], fmt.Sprintf("%s %x", columns, values))
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestARescueOfAWholeFileKeepsAllOfIt(t *testing.T) {
	path, _ := everyKind(t, 300)
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	kept, err := Rescue(t.Context(), path, fresh, nil, nil, func(p string) { t.Errorf("not kept: %s", p) })
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range kept {
		if l.Records != l.Signed {
			t.Errorf("%+v", l)
		}
	}
	want, got := content(t, path), content(t, fresh)
	for table, rows := range want {
		if len(rows) == 0 || !reflect.DeepEqual(rows, got[table]) {
			t.Errorf("%s: %d rows of %d, or others", table, len(got[table]), len(rows))
		}
	}
}

// What derives from records comes back from them, whatever was made of it.
func TestARescueMakesAnewWhatDerivesFromRecords(t *testing.T) {
	for _, damage := range []string{
		"DELETE FROM tile WHERE level = 0",
		"UPDATE tile SET hashes = zeroblob(length(hashes))",
		"UPDATE record SET ended = 3, root = zeroblob(32)",
		"UPDATE corpus SET size = 7, root = zeroblob(32), documents = 1, staged = 9",
		"DROP INDEX record_root",
	} {
		path, _ := everyKind(t, 300)
		want := content(t, path)
		edit(t, path, damage)
		fresh := filepath.Join(t.TempDir(), "fresh.db")
		if _, err := Rescue(t.Context(), path, fresh, nil, nil, func(p string) { t.Errorf("%s: not kept: %s", damage, p) }); err != nil {
			t.Fatal(err)
		}
		if got := content(t, fresh); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: something else came of it", damage)
		}
	}
}

// ownHead returns what a file says of the own log, and its head.
func ownHead(t *testing.T, path string) (info Info, note []byte) {
	t.Helper()
	s := openTest(t, path)
	info, err := s.Lookup(t.Context(), "main")
	if err == nil {
		_, note, err = s.Head(t.Context(), info.Origin)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return info, note
}

// mustRescueOwn rescues a file into a fresh one, where the own log is what it was.
func mustRescueOwn(t *testing.T, name, path string, own []Kept, want Info) {
	t.Helper()
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	kept, err := Rescue(t.Context(), path, fresh, own, nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(kept, func(l Rescued) bool { return l.Origin == want.Origin })
	if i < 0 || kept[i].Records != want.Size || kept[i].Signed != want.Size {
		t.Errorf("%s: %+v of %d records", name, kept, want.Size)
	}
	s := openTest(t, fresh)
	if got, err := s.Lookup(t.Context(), "main"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v: %v", name, got, want, err)
	}
	if _, err := s.Check(t.Context(), func(p string) { t.Errorf("%s: %s", name, p) }); err != nil {
		t.Fatal(err)
	}
}

// What the row of an own log said is kept beside its key. It may not be the only row
// that is lost, and its number may have been given to another log.
func TestARescueFindsTheRecordsOfAnOwnLogWhoseRowIsLost(t *testing.T) {
	for lost, remade := range map[string]bool{"own = 1": true, "own = 1 OR size = 20": false, "1": false, "2": true} {
		path, _ := everyKind(t, 300)
		info, note := ownHead(t, path)
		edit(t, path, "DELETE FROM corpus WHERE "+lost)
		s := openTest(t, path)
		var problems []string
		if _, err := s.Check(t.Context(), func(p string) { problems = append(problems, p) }); err != nil || len(problems) == 0 {
			t.Errorf("%s: check finds %q, %v", lost, problems, err)
		}
		key := testSigner(t, "main", 2).Verifier()
		if remade { // by a program that did not look
			edit(t, path, fmt.Sprintf("INSERT INTO corpus (origin, name, key, own, size, root, documents, staged, staged_documents) VALUES ('%s', 'main', '%s', 1, 0, zeroblob(32), 0, 0, 0)", key.Name(), key))
		}
		if _, err := s.Create(t.Context(), "main", key); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: made anew over its records: %v", lost, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		mustRescueOwn(t, lost, path, []Kept{{testSigner(t, "other", 1).Verifier(), nil}, {key, note}}, info)
	}
}

// The head is kept beside the key as well: damage of the one in the file costs no record.
func TestARescueTakesTheKeptHeadOfAnOwnLogWhoseHeadIsDamaged(t *testing.T) {
	for name, damage := range map[string]func(note []byte){
		"signature": func(note []byte) { note[len(note)-20] ^= 1 },
		"root":      func(note []byte) { note[bytes.LastIndexByte(note[:bytes.Index(note, []byte("\n\n"))], '\n')+3] ^= 1 },
		"size":      func(note []byte) { note[bytes.IndexByte(note, '\n')+1]++ },
		"no note":   func(note []byte) { clear(note) },
	} {
		path, _ := everyKind(t, 300)
		info, note := ownHead(t, path)
		damaged := bytes.Clone(note)
		damage(damaged)
		edit(t, path, fmt.Sprintf("UPDATE corpus SET note = x'%x' WHERE own = 1 AND name = 'main'", damaged))
		mustRescueOwn(t, name, path, []Kept{{testSigner(t, "main", 2).Verifier(), note}}, info)
	}
}

// An index that lacks a corpus must not pass for a file that lacks it: whoever then
// makes the corpus anew would sign a second history.
func TestACorpusThatAnIndexLacksIsDamage(t *testing.T) {
	for _, index := range []string{"corpus_own_name", "sqlite_autoindex_corpus_1"} {
		path, _ := everyKind(t, 300)
		emptyIndex(t, path, index)
		s := openTest(t, path)
		for _, name := range []string{"main", testSigner(t, "main", 1).Name()} {
			if _, err := s.Lookup(t.Context(), name); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, %s: %v", index, name, err)
			}
		}
		if _, err := s.Create(t.Context(), "main", testSigner(t, "main", 2).Verifier()); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: create: %v", index, err)
		}
		if _, err := s.Lookup(t.Context(), "nope"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", index, err)
		}
	}
}

// rootPage returns the number of the first page of a table or an index.
func rootPage(t *testing.T, path, name string) (page int64) {
	t.Helper()
	db := sql.OpenDB(plainConnector("file:" + path))
	err := db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = ?", name).Scan(&page)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return page
}

// swapRows gives the first two rows of a table each other's number, so that its indexes
// lead from the one to the other.
func swapRows(t *testing.T, path, table string) {
	t.Helper()
	root := rootPage(t, path, table)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := b[(root-1)*4096:][:4096]
	if page[0] != 13 {
		t.Fatal("the table has more than one page")
	}
	number := func(cell int) *byte {
		at := int(page[8+2*cell])<<8 | int(page[9+2*cell])
		for ; page[at] >= 0x80; at++ { // the length of the row
		}
		return &page[at+1]
	}
	one, two := number(0), number(1)
	*one, *two = *two, *one
	page[8], page[9], page[10], page[11] = page[10], page[11], page[8], page[9]
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What an index leads to is not shown, nor added to, as what was asked for.
func TestAnIndexThatLeadsToAnotherLogIsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "corpora.db")
	s := openTest(t, path)
	one, two := testSigner(t, "one", 1), testSigner(t, "two", 2)
	for _, signer := range []*proof.Signer{one, two} {
		_, name, _ := strings.Cut(signer.Name(), "/")
		if _, err := s.Create(t.Context(), name, signer.Verifier()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	swapRows(t, path, "corpus")
	s = openTest(t, path)
	for _, name := range []string{one.Name(), two.Name(), "one", "two"} {
		if info, err := s.Lookup(t.Context(), name); !errors.Is(err, ErrCorrupt) {
			t.Errorf("look up %s: %+v, %v", name, info, err)
		}
	}
	if _, err := s.Append(t.Context(), one.Name(), two, numbered(1, 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("append: %v", err)
	}
	var found []string
	if _, err := s.Check(t.Context(), func(p string) { found = append(found, p) }); err != nil || len(found) == 0 {
		t.Errorf("check finds %q, %v", found, err)
	}
}

// A row whose name is not that of its origin is of no log that can be told.
func TestARowOfAnotherNameIsDamage(t *testing.T) {
	for _, own := range []bool{true, false} {
		path, m := everyKind(t, 300)
		origin, name := m.origin(), "a"
		if own {
			origin, name = testSigner(t, "main", 1).Name(), "main"
		}
		edit(t, path, fmt.Sprintf("UPDATE corpus SET name = 'other' WHERE name = '%s'", name))
		s := openTest(t, path)
		if _, err := s.Lookup(t.Context(), origin); !errors.Is(err, ErrCorrupt) {
			t.Errorf("look up: %v", err)
		}
		if _, _, err := s.Head(t.Context(), origin); !errors.Is(err, ErrCorrupt) {
			t.Errorf("head: %v", err)
		}
		var found []string
		if _, err := s.Check(t.Context(), func(p string) { found = append(found, p) }); err != nil || len(found) == 0 {
			t.Errorf("check finds %q, %v", found, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fresh := filepath.Join(t.TempDir(), "fresh.db")
		if _, err := Rescue(t.Context(), path, fresh, nil, nil, func(p string) { t.Errorf("not kept: %s", p) }); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, fresh)
		if info, err := s.Lookup(t.Context(), origin); err != nil || info.Name != name {
			t.Errorf("%+v, %v", info, err)
		}
		checkClean(t, s)
	}
}

// A filter derives from the log: what damage has made of it is not carried along, for
// no repair would ever end.
func TestARescueLeavesADamagedFilterOut(t *testing.T) {
	for _, damage := range []string{"UPDATE filter SET note = CAST(note || 'x' AS BLOB)", "UPDATE filter SET bytes = zeroblob(length(bytes))"} {
		path, _ := everyKind(t, 300)
		edit(t, path, damage)
		fresh := filepath.Join(t.TempDir(), "fresh.db")
		if _, err := Rescue(t.Context(), path, fresh, nil, nil, func(string) {}); err != nil {
			t.Fatal(err)
		}
		s := openTest(t, fresh)
		if _, err := s.Check(t.Context(), func(p string) { t.Errorf("%s: %s", damage, p) }); err != nil {
			t.Fatal(err)
		}
		key := testSigner(t, "main", 2)
		if err := s.MakeFilter(t.Context(), key.Name(), key); err != nil {
			t.Errorf("%s: %v", damage, err)
		}
	}
}

// A pinned key that a disk has changed is damage here, and no publisher that has
// another one.
func TestADamagedKeyAccusesNobody(t *testing.T) {
	path, m := everyKind(t, 300)
	edit(t, path, "UPDATE corpus SET key = substr(key, 1, length(key) - 4) || 'AAAA'")
	s := openTest(t, path)
	if _, err := s.Follow(t.Context(), m.signer.Verifier()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("follow: %v", err)
	}
	if _, err := s.Create(t.Context(), "main", testSigner(t, "main", 2).Verifier()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("create: %v", err)
	}
}

// emptyIndex makes a page that holds a whole index hold nothing.
func emptyIndex(t *testing.T, path, name string) {
	t.Helper()
	page := rootPage(t, path, name)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// A leaf of an index (10) without cells, whose content starts at the end.
	if _, err := f.WriteAt([]byte{10, 0, 0, 0, 0, 4096 >> 8, 0, 0}, (page-1)*4096); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, path, statement string) {
	t.Helper()
	db := sql.OpenDB(plainConnector("file:" + path))
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func TestALogWithoutSomeRecordsWaitsForThem(t *testing.T) {
	for damage, want := range map[string]Rescued{
		"DELETE FROM record WHERE idx = 200":                                 {Records: 200, Behind: 99},
		"UPDATE record SET line = x'00' WHERE idx = 200":                     {Records: 200, Behind: 99},
		"UPDATE record SET line = CAST(line || ' ' AS BLOB) WHERE idx = 200": {Records: 200, Behind: 99},
		"DELETE FROM record":                                                 {},
	} {
		ctx, m := context.Background(), newModelOf(t, "main", 300)
		want.Origin, want.Signed = m.origin(), 300
		s := ownStore(t, m, 300, nil)
		if err := errors.Join(s.MakeFilter(ctx, m.origin(), m.signer), s.Close()); err != nil {
			t.Fatal(err)
		}
		edit(t, s.path, damage)
		fresh, said := filepath.Join(t.TempDir(), "fresh.db"), 0
		kept, err := Rescue(ctx, s.path, fresh, nil, nil, func(string) { said++ })
		if err != nil || len(kept) != 1 || kept[0] != want || said == 0 {
			t.Errorf("%s: %+v, %d reports, %v", damage, kept, said, err)
		}
		s = openTest(t, fresh)
		// Its filter, too, is of records that are not here.
		if _, err := s.Check(ctx, func(p string) { t.Errorf("%s: check: %s", damage, p) }); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(ctx, m.origin(), m.signer, numbered(1, 900)); !errors.Is(err, ErrBehind) {
			t.Errorf("%s: append: %v", damage, err)
		}
		if _, err := s.ExtendFrom(ctx, m.origin(), m.note(300), m.from(300)); err != nil {
			t.Errorf("%s: bring it back: %v", damage, err)
		}
		m.checkLog(t, s, 300)
	}
}

// Followers need not have the last records: what stands behind those that are lost
// is kept until they are back, through another repair too, and proven then.
func TestRecordsBehindLostOnesAreKept(t *testing.T) {
	const records = 300
	for name, c := range map[string]struct {
		damage   string
		follower uint64 // records that it has
		want     uint64 // in force afterwards
	}{
		"a record is lost":                     {"DELETE FROM record WHERE idx = 100", 299, records},
		"many are":                             {"DELETE FROM record WHERE idx >= 100 AND idx < 280", 290, records},
		"one is another's":                     {"UPDATE record SET line = (SELECT line FROM record o WHERE o.idx = 7) WHERE idx = 100", 200, records},
		"the follower lacks some in front too": {"DELETE FROM record WHERE idx = 200", 150, 150},
		"one behind is lost as well":           {"DELETE FROM record WHERE idx IN (100, 295)", 290, 290},
		"one behind is damaged":                {"DELETE FROM record WHERE idx = 100; UPDATE record SET line = CAST(line || ' ' AS BLOB) WHERE idx = 295", 290, 290},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, m := t.Context(), newModelOf(t, "main", records)
			s := ownStore(t, m, records, nil)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			edit(t, s.path, c.damage)
			path := s.path
			for range 2 {
				fresh := filepath.Join(t.TempDir(), "fresh.db")
				if _, err := Rescue(ctx, path, fresh, nil, nil, func(string) {}); err != nil {
					t.Fatal(err)
				}
				path = fresh
			}
			s = openTest(t, path)
			head, err := s.ExtendFrom(ctx, m.origin(), m.note(c.follower), m.from(c.follower))
			if err != nil || head != m.head(c.want) {
				t.Errorf("head %+v, %v; want that of %d records", head, err, c.want)
			}
			m.checkTiles(t, s, c.want)
			info, err := s.Lookup(ctx, m.origin())
			if err != nil || info.Size != c.want || info.Seen != records || info.Frozen {
				t.Errorf("%+v, %v", info, err)
			}
			if _, err := s.Append(ctx, m.origin(), m.signer, numbered(1, 900)); errors.Is(err, ErrBehind) == (c.want == records) {
				t.Errorf("append: %v", err)
			}
			if _, err := s.ExtendFrom(ctx, m.origin(), m.note(records), m.from(records)); c.want < records && err != nil {
				t.Errorf("a sync with all of it: %v", err)
			}
			checkStore(t, s)
			var left int
			if err := raw(t, path).QueryRow("SELECT count(*) FROM salvaged").Scan(&left); err != nil || left > 0 {
				t.Errorf("%d lines are still kept, %v", left, err)
			}
		})
	}
}

// Whichever page of the file is lost: a head is in force with all that it signs,
// or it is known and waits, and nothing in the new file contradicts itself.
func TestARescueTrustsNothingThatItReads(t *testing.T) {
	path, m := everyKind(t, 300)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const pageSize = 4096
	lost := make(map[string]int)
	for at := pageSize; at < len(whole); at += 5 * pageSize {
		for name, page := range map[string][]byte{"zeroed": make([]byte, pageSize), "another": whole[len(whole)-at:][:pageSize]} {
			b := append([]byte(nil), whole...)
			copy(b[at:], page)
			dir := t.TempDir()
			damaged, fresh := filepath.Join(dir, "damaged.db"), filepath.Join(dir, "fresh.db")
			if err := os.WriteFile(damaged, b, 0o600); err != nil {
				t.Fatal(err)
			}
			var problems []string
			kept, err := Rescue(t.Context(), damaged, fresh, nil, nil, func(p string) { problems = append(problems, p) })
			if err != nil {
				t.Fatalf("page %d %s: %v", at/pageSize, name, err)
			}
			s := openTest(t, fresh)
			for _, l := range kept {
				info, err := s.Lookup(t.Context(), l.Origin)
				if err != nil {
					t.Fatal(err)
				}
				if info.Size != l.Signed && (info.Size != 0 || info.Seen < l.Signed || len(problems) == 0) {
					t.Errorf("page %d %s: %+v of %+v, %q", at/pageSize, name, info, l, problems)
				}
				if info.Size < l.Signed {
					lost[name]++
				}
				if l.Origin == m.origin() && info.Size > 0 {
					m.checkInfo(t, s, 300)
					m.checkTiles(t, s, 300)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if lost["zeroed"] == 0 || lost["another"] == 0 {
		t.Errorf("no log was ever damaged: %v", lost)
	}
}

// A head that cannot be read hides nothing of what the other one signs.
func TestAnUnreadableHeadCostsNoRecord(t *testing.T) {
	for damage, want := range map[string]Rescued{
		"UPDATE corpus SET seen = x'00'":                                     {Records: 300, Signed: 300},
		"UPDATE corpus SET seen = x'00'; DELETE FROM record WHERE idx = 200": {Records: 200, Signed: 300, Behind: 99},
	} {
		m := newModelOf(t, "main", 300)
		want.Origin = m.origin()
		s := ownStore(t, m, 300, nil)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		edit(t, s.path, damage)
		kept, err := Rescue(t.Context(), s.path, filepath.Join(t.TempDir(), "fresh.db"), nil, nil, func(string) {})
		if err != nil || len(kept) != 1 || kept[0] != want {
			t.Errorf("%s: %+v, %v; want %+v", damage, kept, err, want)
		}
	}
}

// Evidence that no longer proves anything freezes nothing, and is not carried along:
// no repair would ever end.
func TestARescueLeavesDamagedEvidenceOut(t *testing.T) {
	for _, damage := range []string{
		"UPDATE evidence SET older = zeroblob(length(older))",
		"UPDATE evidence SET newer = CAST('x' AS BLOB)",
		"UPDATE evidence SET kind = 99",
		"UPDATE evidence SET id = id + 1000",
		"DELETE FROM evidence",
	} {
		path, _ := everyKind(t, 300)
		edit(t, path, damage)
		fresh := filepath.Join(t.TempDir(), "fresh.db")
		var said []string
		if _, err := Rescue(t.Context(), path, fresh, nil, nil, func(p string) { said = append(said, p) }); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(said, "\n"), "it goes on") {
			t.Errorf("%s: nothing is said of it: %q", damage, said)
		}
		s := openTest(t, fresh)
		if _, err := s.Check(t.Context(), func(p string) { t.Errorf("%s: %s", damage, p) }); err != nil {
			t.Fatal(err)
		}
		if err := s.FileEvidence(t.Context(), t.TempDir()); err != nil {
			t.Errorf("%s: %v", damage, err)
		}
		followTo(t, s, newModelOf(t, "frozen", 30), 30)
	}
}

// Keys that are lost accuse nobody, and acquit nobody either.
func TestARescueDropsNoEvidenceThatItCannotJudge(t *testing.T) {
	path, _ := everyKind(t, 300)
	edit(t, path, "UPDATE rotation SET corpus = (SELECT id FROM corpus WHERE name = 'frozen'), note = zeroblob(length(note))")
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	if _, err := Rescue(t.Context(), path, fresh, nil, nil, func(string) {}); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, fresh)
	origin := newModelOf(t, "frozen", 30).origin()
	info, err := s.Lookup(t.Context(), origin)
	if err != nil || !info.Frozen {
		t.Errorf("%+v, %v: it is frozen no more", info, err)
	}
	if kept, err := s.Evidence(t.Context(), origin); err != nil || len(kept) != 1 {
		t.Errorf("%d pieces of evidence, %v, want 1", len(kept), err)
	}
}

// A change of a key is what both keys have signed: the rest of its row comes from
// that, and what they have not signed is left out, or no repair would end.
func TestARescueJudgesChangesOfAKey(t *testing.T) {
	for damage, want := range map[string]int{ // changes that are kept, of three
		"UPDATE rotation SET old = replace(old, 'main', 'niam')":                 3,
		"UPDATE rotation SET seq = seq + 7":                                      3,
		"UPDATE rotation SET pending = 2 WHERE seq = 1":                          3,
		"UPDATE rotation SET note = zeroblob(length(note)) WHERE seq = 0":        2,
		"UPDATE rotation SET note = CAST('x' || note AS BLOB) WHERE seq = 1":     1,
		"UPDATE rotation SET note = zeroblob(length(note)) WHERE seq = 2":        0,
		"UPDATE rotation SET note = (SELECT note FROM rotation WHERE seq = 0)":   0,
		"UPDATE rotation SET note = (SELECT note FROM rotation WHERE seq = 2)":   1,
		"UPDATE rotation SET note = zeroblob(length(note)), seq = seq - 1":       0,
		"DELETE FROM rotation WHERE seq = 1":                                     1,
		"UPDATE corpus SET origin = origin":                                      3,
		"UPDATE rotation SET old = 'x'; UPDATE rotation SET seq = 5 WHERE seq=0": 3,
	} {
		signers := []*proof.Signer{testSigner(t, "main", 1), testSigner(t, "main", 2), testSigner(t, "main", 3), testSigner(t, "main", 4)}
		s := own(t, signers[0], 5)
		var file []byte
		for i, next := range signers[1:] {
			file = rotated(t, s, signers[i], next)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		edit(t, s.path, damage)
		fresh := filepath.Join(t.TempDir(), "fresh.db")
		var said []string
		if _, err := Rescue(t.Context(), s.path, fresh, nil, nil, func(p string) { said = append(said, p) }); err != nil {
			t.Fatal(err)
		}
		if hint := strings.Contains(strings.Join(said, "\n"), "arborist peer sync FROM "+signers[0].Name()); hint != (want < 3) {
			t.Errorf("%s: it says %q", damage, said)
		}
		s = openTest(t, fresh)
		checkClean(t, s)
		info, err := s.Lookup(t.Context(), "main")
		if err != nil || len(info.Older) != want || info.Key != signers[3].Verifier().String() {
			t.Errorf("%s: %d changes, %v, want %d", damage, len(info.Older), err, want)
		}
		if _, err := s.Append(t.Context(), info.Origin, signers[3], numbered(2, 100)); err != nil {
			t.Errorf("%s: %v", damage, err)
		}
		if back, err := s.CompleteRotations(t.Context(), info.Origin, file); err != nil || back != 3-want {
			t.Errorf("%s: %d are back, %v", damage, back, err)
		}
		if whole, err := s.Rotations(t.Context(), info.Origin); err != nil || !bytes.Equal(whole, file) {
			t.Errorf("%s: it is not whole: %v", damage, err)
		}
		checkClean(t, s)
	}
}

// What comes back leads to the own key, and fits the log.
func TestOnlyRotationsOfTheLogComeBack(t *testing.T) {
	old, next, thief := testSigner(t, "main", 1), testSigner(t, "main", 2), testSigner(t, "main", 3)
	s := own(t, next, 5)
	head, _, err := s.Head(t.Context(), next.Name())
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]proof.Rotation{
		"to another key":      mustRotate(t, head, old, thief),
		"at another root":     mustRotate(t, proof.Checkpoint{Origin: head.Origin, Size: 3, Root: merkle.Hash{1}}, old, next),
		"at a head to come":   mustRotate(t, proof.Checkpoint{Origin: head.Origin, Size: 6, Root: merkle.Hash{1}}, old, next),
		"of another corpus":   mustRotate(t, proof.Checkpoint{Origin: testSigner(t, "b", 1).Name(), Size: 5, Root: head.Root}, testSigner(t, "b", 1), testSigner(t, "b", 2)),
		"from the key it has": mustRotate(t, head, next, thief),
	} {
		if back, err := s.CompleteRotations(t.Context(), next.Name(), r.Note()); err != nil || back != 0 {
			t.Errorf("%s: %d, %v", name, back, err)
		}
	}
	if back, err := s.CompleteRotations(t.Context(), next.Name(), mustRotate(t, head, old, next).Note()); err != nil || back != 1 {
		t.Errorf("%d, %v", back, err)
	}
	checkClean(t, s)
}

func mustRotate(t *testing.T, head proof.Checkpoint, old, next *proof.Signer) proof.Rotation {
	t.Helper()
	r, err := proof.MakeRotation(head, old, next)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Two changes of one key keep a log frozen, in whatever order their rows come.
func TestARescueKeepsWhatHasFrozenALogOverItsKey(t *testing.T) {
	m := newModelOf(t, "main", 12)
	next, other := testSigner(t, "main", 2), testSigner(t, "main", 3)
	s := openTest(t, filepath.Join(t.TempDir(), "corpora.db"))
	followTo(t, s, m, 5)
	accept := func(to *proof.Signer) error {
		r, err := proof.MakeRotation(m.head(5), m.signer, to)
		if err != nil {
			t.Fatal(err)
		}
		return s.AcceptRotations(t.Context(), m.origin(), Handover{Rotations: r.Note(), Statement: []byte("two"), Note: noteBy(t, m, 5, to)})
	}
	if err := accept(next); err != nil {
		t.Fatal(err)
	}
	if err := accept(other); !errors.Is(err, ErrEquivocation) {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	if _, err := Rescue(t.Context(), s.path, fresh, nil, nil, func(p string) { t.Errorf("not kept: %s", p) }); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, fresh), content(t, s.path); !reflect.DeepEqual(got["rotation"], want["rotation"]) {
		t.Errorf("rotations %q, want %q", got["rotation"], want["rotation"])
	}
	s = openTest(t, fresh)
	if found, err := s.Evidence(t.Context(), m.origin()); err != nil || len(found) != 1 || found[0].Kind != proof.RotationFork {
		t.Errorf("%+v, %v", found, err)
	}
}

// A key that waits for records that are not here goes on waiting.
func TestARescueKeepsAKeyThatIsNotServedYet(t *testing.T) {
	m := newModelOf(t, "main", 12)
	next := testSigner(t, "main", 2)
	s := openTest(t, filepath.Join(t.TempDir(), "corpora.db"))
	followTo(t, s, m, 5)
	r, err := proof.MakeRotation(m.head(8), m.signer, next)
	if err != nil {
		t.Fatal(err)
	}
	err = s.AcceptRotations(t.Context(), m.origin(), Handover{Rotations: r.Note(), Statement: []byte("two"), Note: noteBy(t, m, 12, next),
		Paths: map[uint64][]merkle.Hash{5: m.consistency(5, 12), 8: m.consistency(8, 12)}})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	if _, err := Rescue(t.Context(), s.path, fresh, nil, nil, func(p string) { t.Errorf("not kept: %s", p) }); err != nil {
		t.Fatal(err)
	}
	got, want := content(t, fresh), content(t, s.path)
	for _, table := range []string{"rotation", "corpus"} {
		if !reflect.DeepEqual(got[table], want[table]) {
			t.Errorf("%s %q, want %q", table, got[table], want[table])
		}
	}
}

// What a witness cosigned last keeps it from cosigning another history. Where it is
// damaged the log itself does.
func TestARescueJudgesWhatAWitnessCosigned(t *testing.T) {
	for damage, witness := range map[string]bool{
		"UPDATE witness SET cosigned = CAST('x' AS BLOB)":                                                   true,
		"UPDATE witness SET cosigned = CAST(replace(CAST(cosigned AS TEXT), '\n300\n', '\n900\n') AS BLOB)": true,
		"UPDATE witness SET cosigned = CAST(replace(CAST(cosigned AS TEXT), '\n300\n', '\n200\n') AS BLOB)": true,
		"UPDATE witness SET active = 9": true,
		"UPDATE witness SET cosigned = CAST('x' AS BLOB); UPDATE corpus SET note = CAST('x' AS BLOB)": false,
	} {
		path, m := everyKind(t, 300)
		edit(t, path, damage)
		s := openTest(t, path)
		var found []string
		if _, err := s.Check(t.Context(), func(p string) { found = append(found, p) }); err != nil || len(found) == 0 && !strings.Contains(damage, "active") {
			t.Errorf("%s: check finds %q, %v", damage, found, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fresh := filepath.Join(t.TempDir(), "fresh.db")
		if _, err := Rescue(t.Context(), path, fresh, nil, nil, func(string) {}); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, fresh)
		checkClean(t, s)
		s.SetWitnesses(nil, testWitness(t, "me"))
		info, err := s.Lookup(t.Context(), m.origin())
		if err != nil || info.Witness != witness {
			t.Errorf("%s: a witness: %t, %v", damage, info.Witness, err)
		}
		if err := s.CosignHeads(t.Context()); err != nil {
			t.Errorf("%s: %v", damage, err)
		}
	}
}
