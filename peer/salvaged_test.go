package peer

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"arborist/shard"
	"arborist/shard/corpus"
)

// A publisher that has lost a record in the middle gets it from a follower that has
// not seen the last ones yet, and goes on where it was.
func TestAFollowerThatLagsBringsBackWhatIsLost(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t)
	a.publish("main", entriesOf(t, "doc:/x", 20, 100)...)
	origin := a.origin("main")
	b.up(listenTCP).sync(a.addr(), origin)
	a.publish("main", entriesOf(t, "doc:/late", 3, 100)...)
	a.close()

	path := filepath.Join(a.dir, "shards", shard.CorporaName)
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("DELETE FROM record WHERE idx = 7")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	fresh := path + ".fresh"
	kept, err := corpus.Rescue(t.Context(), path, fresh, nil, nil, func(string) {})
	if err != nil || len(kept) != 1 || kept[0].Records != 7 || kept[0].Behind != 15 {
		t.Fatalf("%+v, %v", kept, err)
	}
	if err := os.Rename(fresh, path); err != nil {
		t.Fatal(err)
	}

	a.openStore()
	a.up(nil)
	if res, err := a.peer.Sync(t.Context(), b.addr(), origin, nil); err != nil || res.Size != 23 {
		t.Errorf("sync: %+v, %v", res, err)
	}
	if info := a.info(origin); info.Size != 23 || info.Seen != 23 {
		t.Errorf("afterwards: %+v", info)
	}
	if _, err := a.peer.Sync(t.Context(), b.addr(), origin, nil); !errors.Is(err, ErrOwn) {
		t.Errorf("sync once more: %v", err)
	}
	a.publish("main", entriesOf(t, "doc:/more", 1, 100)...)
	var problems []string
	if _, err := a.shared.Check(t.Context(), func(p string) { problems = append(problems, p) }); err != nil || len(problems) > 0 {
		t.Errorf("check: %q, %v", problems, err)
	}
	a.peer.Close()
	b.sync(a.up(listenTCP).addr(), origin)
	if info := b.info(origin); info.Size != 24 || info.Frozen {
		t.Errorf("the follower: %+v", info)
	}
}

// A publisher whose disk has lost a change of its key gets that from a follower, so
// that those who know none but its first key can go on.
func TestAFollowerBringsBackAChangeOfAKey(t *testing.T) {
	for _, lost := range []string{"seq = 0", "seq = 1", "seq >= 0"} {
		a, b, late := newNode(t).up(listenTCP), newNode(t).up(listenTCP), newNode(t).up(nil)
		a.publish("main", entriesOf(t, "doc:/x", 5, 100)...)
		origin := a.origin("main")
		late.sync(a.addr(), origin)
		a.nextKey("main")
		_, key := a.nextKey("main")
		a.publish("main", entriesOf(t, "doc:/y", 5, 100)...)
		b.sync(a.addr(), origin)
		a.close()

		path := filepath.Join(a.dir, "shards", shard.CorporaName)
		db, err := sql.Open("sqlite3", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec("UPDATE rotation SET note = zeroblob(length(note)) WHERE " + lost)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		fresh := path + ".fresh"
		if _, err := corpus.Rescue(t.Context(), path, fresh, nil, nil, func(string) {}); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fresh, path); err != nil {
			t.Fatal(err)
		}

		a.openStore()
		a.up(listenTCP)
		if _, err := late.peer.Sync(t.Context(), a.addr(), origin, nil); !errors.Is(err, ErrKey) {
			t.Errorf("%s: who knows the first key: %v", lost, err)
		}
		if _, err := a.peer.Sync(t.Context(), b.addr(), origin, nil); err != nil {
			t.Errorf("%s: %v", lost, err)
		}
		a.pinned(origin, key, 2)
		if _, err := a.peer.Sync(t.Context(), b.addr(), origin, nil); !errors.Is(err, ErrOwn) {
			t.Errorf("%s: sync once more: %v", lost, err)
		}
		late.sync(a.addr(), origin)
		late.pinned(origin, key, 2)
	}
}
