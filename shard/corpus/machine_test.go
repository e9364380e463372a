package corpus

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"arborist/proof"
)

// machine is a publisher, a follower of it and a light client, each in a file
// of its own, with the model of what the log must be.
type machine struct {
	dir       string
	publisher *Store
	follower  *Store
	light     *Store
	m         *model
	followed  uint64 // head of the follower
	seen      uint64 // head of the light client
	names     int    // for records that are like no other
}

func (x *machine) open(t *rapid.T, name string) *Store {
	s, err := Open(filepath.Join(x.dir, name+".db"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (x *machine) close() {
	x.publisher.Close()
	x.follower.Close()
	x.light.Close()
}

// few draws from a domain so small that URIs and documents meet again.
func few(t *rapid.T) proof.Record {
	uri := fmt.Sprintf("u:%d", rapid.IntRange(0, 5).Draw(t, "uri"))
	content := rapid.IntRange(-1, 4).Draw(t, "content")
	if content < 0 {
		return withdrawal(uri)
	}
	return listed(uri, fmt.Sprint(content))
}

func (x *machine) appendFew(t *rapid.T) {
	var recs []proof.Record
	for range rapid.IntRange(0, 9).Draw(t, "records") {
		recs = append(recs, few(t))
	}
	appendBoth(t, x.publisher, x.m, recs...)
}

// appendMany crosses the borders of tiles.
func (x *machine) appendMany(t *rapid.T) {
	n := rapid.IntRange(100, 300).Draw(t, "many")
	if x.m.size() > 700 {
		t.Skip("long enough")
	}
	appendBoth(t, x.publisher, x.m, numbered(n, x.names)...)
	x.names += n
}

func (x *machine) extend(t *rapid.T) {
	n := rapid.Uint64Range(x.followed, x.m.size()).Draw(t, "to")
	head, err := x.follower.ExtendFrom(context.Background(), x.m.origin(), x.m.note(n), x.m.from(n))
	if err != nil || head != x.m.head(n) {
		t.Fatalf("extend to %d: %v, %v", n, head, err)
	}
	x.followed = n
}

// cutExtend stages a part of the truth.
func (x *machine) cutExtend(t *rapid.T) {
	if x.followed == x.m.size() {
		t.Skip("up to date")
	}
	n := x.m.size()
	cut := rapid.Uint64Range(0, n-1).Draw(t, "cut")
	_, err := x.follower.ExtendFrom(context.Background(), x.m.origin(), x.m.note(n), func(from uint64) iter.Seq2[[]byte, error] {
		return sequence(x.m.lines[from:max(from, cut)], errCut)
	})
	// Lies that were staged before end in a mismatch or, where they were cut
	// themselves, in the same cut.
	if !errors.Is(err, errCut) {
		t.Fatalf("cut extend: %v", err)
	}
}

// lie serves lines of another history under the publisher's note, whole or cut.
func (x *machine) lie(t *rapid.T) {
	n := x.m.size()
	if x.followed == n {
		t.Skip("up to date")
	}
	liar := x.m.fork(int(x.followed))
	for liar.size() < n {
		if rapid.Bool().Draw(t, "invent") {
			liar.put(listed(fmt.Sprintf("u:%d", liar.size()), fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "lie"))))
		} else {
			liar.put(few(t))
		}
	}
	cut := rapid.Uint64Range(x.followed, n).Draw(t, "cut")
	_, err := x.follower.ExtendFrom(context.Background(), x.m.origin(), x.m.note(n), func(from uint64) iter.Seq2[[]byte, error] {
		if cut < n {
			return sequence(liar.lines[from:max(from, cut)], errCut)
		}
		return sequence(liar.lines[from:n], nil)
	})
	if err == nil && liar.root(n) == x.m.root(n) {
		x.followed = n // by chance the lie is the truth
	} else if err == nil {
		// The truth was staged but for a tail on which the lie agrees.
		if head, _, err := x.follower.Head(context.Background(), x.m.origin()); err != nil || head != x.m.head(n) {
			t.Fatalf("a lie was believed: %v, %v", head, err)
		}
		x.followed = n
	}
}

func (x *machine) rollback(t *rapid.T) {
	if x.followed < 2 {
		t.Skip("nothing to go back to")
	}
	n := rapid.Uint64Range(0, x.followed-1).Draw(t, "back to")
	if _, err := x.follower.Extend(context.Background(), x.m.origin(), x.m.note(n), nil); !errors.Is(err, ErrRollback) {
		t.Fatalf("rollback from %d to %d: %v", x.followed, n, err)
	}
}

func (x *machine) remember(t *rapid.T) {
	n := x.m.size()
	if n == 0 {
		t.Skip("no head")
	}
	to := rapid.Uint64Range(1, n).Draw(t, "to")
	path := x.m.consistency(max(1, min(x.seen, to)), to)
	if x.seen > 0 && to > x.seen {
		var err error
		if path, err = x.publisher.Consistency(context.Background(), x.m.origin(), x.seen, to); err != nil {
			t.Fatal(err)
		}
	}
	_, err := x.light.RememberHead(context.Background(), x.m.origin(), x.m.note(to), path)
	switch {
	case to < x.seen && !errors.Is(err, ErrRollback), to >= x.seen && err != nil:
		t.Fatalf("remember %d after %d: %v", to, x.seen, err)
	case to > x.seen:
		x.seen = to
	}
}

func (x *machine) reopen(t *rapid.T) {
	x.close()
	x.publisher, x.follower, x.light = x.open(t, "publisher"), x.open(t, "follower"), x.open(t, "light")
}

// check is every invariant, after each step.
func (x *machine) check(t *rapid.T) {
	x.m.checkLog(t, x.publisher, x.m.size())
	x.m.checkLog(t, x.follower, x.followed)
	head, _, err := x.light.Head(context.Background(), x.m.origin())
	if x.seen > 0 && (err != nil || head != x.m.head(x.seen)) {
		t.Fatalf("light client has %v, %v; want size %d", head, err, x.seen)
	}
}

func TestLogsStaySoundUnderAnySteps(t *testing.T) {
	checks, steps := "2", "15"
	if n := soak(0); n > 0 {
		checks, steps = strconv.Itoa(n), "40"
	}
	for name, value := range map[string]string{"rapid.checks": checks, "rapid.steps": steps} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "corpus")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		x := &machine{dir: dir, m: newModel(t, "main")}
		x.publisher, x.follower, x.light = x.open(t, "publisher"), x.open(t, "follower"), x.open(t, "light")
		defer func() { x.close() }()
		if _, err := x.publisher.Create(ctx, "main", x.m.signer.Verifier()); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Store{x.follower, x.light} {
			if _, err := s.Follow(ctx, x.m.signer.Verifier()); err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"append few":  x.appendFew,
			"append some": x.appendFew,
			"append many": x.appendMany,
			"extend":      x.extend,
			"cut extend":  x.cutExtend,
			"lie":         x.lie,
			"roll back":   x.rollback,
			"remember":    x.remember,
			"reopen":      x.reopen,
			"":            x.check,
		})
	})
}
