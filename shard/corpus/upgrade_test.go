package corpus

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"arborist/proof"
)

// fixture unpacks a file that the last program with a schema made.
func fixture(t *testing.T, schema string) (path string) {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", schema+".db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "corpora.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func userVersion(t *testing.T, path string) (version int) {
	t.Helper()
	db := raw(t, path)
	defer db.Close()
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

// The fixture is of commit d87e3d2: "own" with 32 records, and "main" of another
// publisher followed to 20 records, with a later head of 40 seen, a stale one of 10
// kept, a key statement, and a line of an unknown key on every note.
func TestAFileOfSchema1IsReadAndGrows(t *testing.T) {
	ctx := context.Background()
	path := fixture(t, "v1")
	if v := userVersion(t, path); v != 1 {
		t.Fatalf("the fixture has schema %d", v)
	}
	own, m := newModel(t, "own"), newModelOf(t, "main", 40)
	for _, r := range append(numbered(30, 0), withdrawal("https://example.org/7"), listed("https://example.org/8", "another")) {
		own.put(r)
	}
	for round := range uint64(2) { // the second time nothing is left to bring forward
		s := openTest(t, path)
		own.checkLog(t, s, 32+2*round)
		own.checkHistory(t, s, "https://example.org/8", own.size())
		_, seen, err := s.Head(ctx, m.origin())
		if err != nil {
			t.Fatal(err)
		}
		note, err := s.Note(ctx, m.origin())
		if err != nil || round == 0 && (!bytes.Equal(note, m.note(20)) || !bytes.Equal(seen, m.note(40))) {
			t.Fatalf("heads of the followed corpus:\n%s\n%s, %v; want the lines of its key alone", note, seen, err)
		}
		kept, err := s.Evidence(ctx, m.origin())
		if err != nil || len(kept) != 1 || kept[0].Kind != proof.Rollback || !bytes.HasPrefix(kept[0].Older, m.note(10)) || len(kept[0].Older) == len(m.note(10)) {
			t.Errorf("evidence %v, %v; want the stale note as it came", kept, err)
		}
		if statement, err := s.Statement(ctx, m.origin()); err != nil || string(statement) != "a statement\n" {
			t.Errorf("key statement %q, %v", statement, err)
		}
		appendBoth(t, s, own, numbered(2, 100+2*int(round))...)
		if round == 0 {
			followTo(t, s, m, 40)
		}
		m.checkLog(t, s, 40)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if v := userVersion(t, path); v != schemaVersion {
			t.Fatalf("the file has schema %d", v)
		}
	}
	// What the later schemas brought is there: a witness and a new key.
	s, w := openTest(t, path), testWitness(t, "w")
	s.SetWitnesses(nil, w)
	s.now = func() time.Time { return time.Unix(1700000000, 0) }
	if err := s.Witness(ctx, m.origin(), true); err != nil {
		t.Error(err)
	}
	rotated(t, s, own.signer, testSigner(t, "own", 2))
	checkStore(t, s)
}

// Schema 2 had witnesses and no rotations: nothing of it changes, cosignatures
// stay.
func TestAFileOfSchema2TakesRotations(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 5)
	path := filepath.Join(t.TempDir(), "corpora.db")
	s, w := openTest(t, path), testWitness(t, "w")
	s.SetWitnesses(nil, w)
	s.now = func() time.Time { return time.Unix(1700000000, 0) }
	followTo(t, s, m, 5)
	if err := s.Witness(ctx, m.origin(), true); err != nil {
		t.Fatal(err)
	}
	own := newModel(t, "own")
	if _, err := s.Create(ctx, "own", own.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	appendBoth(t, s, own, numbered(3, 0)...)
	note, err := s.Note(ctx, m.origin())
	if err != nil || bytes.Equal(note, m.note(5)) {
		t.Fatalf("note %s, %v; want a cosignature", note, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(t, path)
	execute(t, db, "DROP TABLE salvaged", "DROP TABLE filter", "DROP TABLE rotation", "ALTER TABLE evidence RENAME COLUMN kind TO equivocation", "PRAGMA user_version = 2")
	db.Close()

	s = openTest(t, path)
	if got, err := s.Note(ctx, m.origin()); err != nil || !bytes.Equal(got, note) {
		t.Errorf("note %s, %v; it was %s", got, err, note)
	}
	rotated(t, s, own.signer, testSigner(t, "own", 2))
	checkStore(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if v := userVersion(t, path); v != schemaVersion {
		t.Errorf("the file has schema %d", v)
	}
}

// The fixture is what the last program with schema 5 (commit c4b469f) made with
// everyKind and 30 records: all rows stay, and the log goes on.
func TestAFileOfSchema5KeepsAllOfIt(t *testing.T) {
	ctx := context.Background()
	path := fixture(t, "v5")
	if v := userVersion(t, path); v != 5 {
		t.Fatalf("the fixture has schema %d", v)
	}
	want := content(t, path)
	s := openTest(t, path)
	checkStore(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if v := userVersion(t, path); v != schemaVersion {
		t.Fatalf("the file has schema %d", v)
	}
	if got := content(t, path); !reflect.DeepEqual(got, want) {
		t.Errorf("rows are\n%v\nthey were\n%v", got, want)
	}
	s, m, own := openTest(t, path), newModelOf(t, "a", 40), testSigner(t, "main", 2)
	followTo(t, s, m, 40)
	m.checkLog(t, s, 40)
	head, err := s.Append(ctx, own.Name(), own, numbered(3, 100))
	if err != nil || head.Size != 44 {
		t.Errorf("append: %+v, %v", head, err)
	}
	checkStore(t, s)
}
