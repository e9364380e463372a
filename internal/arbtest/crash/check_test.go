package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"arborist/daemon"
	"arborist/document"
	"arborist/shard"
)

// What an image can have against it.
var (
	errLost    = errors.New("acknowledged and lost")
	errTorn    = errors.New("torn")
	errRefused = errors.New("refuses more")
)

// told is what a program had acknowledged.
type told struct {
	peerID          string
	corpora         []string
	shared, private []int  // numbers of batches
	dropped         string // "followed", "unsynced" or "purged": the last of them
	drops           int    // how many of these there were
	withdrawn       bool
}

func parseAcks(acks []string) (t told, err error) {
	for _, line := range acks {
		word, rest, _ := strings.Cut(line, " ")
		var n int
		switch word {
		case "init":
			t.peerID = rest
		case "corpus":
			t.corpora = append(t.corpora, rest)
		case "shared", "private":
			if _, err := fmt.Sscan(rest, &n); err != nil {
				return t, err
			}
			if word == "shared" {
				t.shared = append(t.shared, n)
			} else {
				t.private = append(t.private, n)
			}
		case "followed", "unsynced", "purged":
			t.dropped, t.drops = word, t.drops+1
		case "withdrawn":
			t.withdrawn = true
		case "failed", "compacted":
		default:
			return t, fmt.Errorf("unknown acknowledgement %q", line)
		}
	}
	return t, nil
}

// checkImage opens a folder that a power cut has left, with our own code alone,
// and holds it to what was acknowledged. Its error wraps errLost, errTorn or
// errRefused.
func checkImage(ctx context.Context, folder string, acks []string) error {
	t, err := parseAcks(acks)
	if err != nil {
		return err
	}
	home := daemon.Home(filepath.Join(folder, "home"))
	// A home that was acknowledged is there, with its keys; an init that was cut
	// short is simply done again.
	res, err := daemon.Init(ctx, home, 0)
	if err != nil {
		return fmt.Errorf("%w: init: %w", errRefused, err)
	}
	if t.peerID != "" && (res.New || res.PeerID != t.peerID) {
		return fmt.Errorf("%w: the home of %s: init made %+v", errLost, t.peerID, res)
	}
	if err := checkCorpora(ctx, home, t.corpora); err != nil {
		return err
	}
	s, err := openStores(home, res.PeerID)
	if err != nil {
		return fmt.Errorf("%w: open: %w", errRefused, err)
	}
	return errors.Join(s.check(ctx, t), s.close())
}

func checkCorpora(ctx context.Context, home daemon.Home, names []string) error {
	n, err := daemon.Open(ctx, daemon.Options{Home: home})
	if err != nil {
		return fmt.Errorf("%w: open: %w", errRefused, err)
	}
	defer n.Close()
	for _, name := range names {
		if _, err := n.CorpusKey(ctx, name); err != nil {
			return fmt.Errorf("%w: corpus %s: %w", errLost, name, err)
		}
	}
	// With its key, or this would make another that does not fit.
	for _, name := range append(names, "second", "third") {
		if _, err := n.CreateCorpus(ctx, name); err != nil {
			return fmt.Errorf("%w: create corpus %s: %w", errRefused, name, err)
		}
	}
	return nil
}

func (s *stores) check(ctx context.Context, t told) error {
	for _, n := range t.shared {
		if err := holds(ctx, s.shared, batch(n, false)); err != nil {
			return fmt.Errorf("%w: shared %d: %w", errLost, n, err)
		}
	}
	for _, n := range t.private {
		if err := holds(ctx, s.private.File(), batch(n, true)); err != nil {
			return fmt.Errorf("%w: private %d: %w", errLost, n, err)
		}
	}
	if err := s.listed(ctx, t.shared); err != nil {
		return err
	}
	if err := errors.Join(s.checkDropped(ctx, t), s.wall(ctx, t.private)); err != nil {
		return err
	}
	// A crash may leave the end of a Put undone: documents that no log lists yet,
	// and an old version beside the new one, which Check retires.
	if err := s.clean(ctx, "stored and not listed; add it again", "repaired: "); err != nil {
		return err
	}
	// The step that was cut short, again, and one more.
	next := 0
	if len(t.shared) > 0 {
		next = t.shared[len(t.shared)-1] + 1
	}
	for n := next; n < next+2; n++ {
		for _, private := range []bool{false, true} {
			if err := s.put(ctx, n, private); err != nil {
				return fmt.Errorf("%w: put %d: %w", errRefused, n, err)
			}
		}
	}
	if err := s.found(ctx, next+1); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	if t.drops > 0 {
		if err := s.dropsAgain(ctx); err != nil {
			return err
		}
	}
	return s.clean(ctx)
}

// clean fails where Check reports anything but what is allowed.
func (s *stores) clean(ctx context.Context, allowed ...string) error {
	var problems []string
	report := func(problem string) {
		for _, a := range allowed {
			if strings.Contains(problem, a) {
				return
			}
		}
		problems = append(problems, problem)
	}
	if _, err := s.shared.Check(ctx, report); err != nil {
		return fmt.Errorf("%w: check: %w", errTorn, err)
	}
	if _, err := s.private.File().Check(ctx, report); err != nil {
		return fmt.Errorf("%w: check: %w", errTorn, err)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %s", errTorn, strings.Join(problems, "; "))
	}
	return nil
}

// listed fails where the log lacks a record of an acknowledged document.
func (s *stores) listed(ctx context.Context, numbers []int) error {
	if len(numbers) == 0 {
		return nil // it may have no head yet
	}
	head, _, err := s.shared.Corpora().Head(ctx, s.origin)
	if err != nil {
		return fmt.Errorf("%w: head: %w", errLost, err)
	}
	records, err := s.shared.Corpora().Records(ctx, s.origin, 0, head.Size)
	if err != nil {
		return fmt.Errorf("%w: records: %w", errTorn, err)
	}
	has := map[document.Root]bool{}
	for _, r := range records {
		has[r.Header.Root] = true
	}
	for _, n := range numbers {
		for _, e := range batch(n, false) {
			if !has[e.Document.Root()] {
				return fmt.Errorf("%w: shared %d: %s is in no record", errLost, n, e.Document.Root())
			}
		}
	}
	return nil
}

// found fails where a search does not find batch n, which is current.
func (s *stores) found(ctx context.Context, n int) error {
	for _, e := range batch(n, false) {
		text := e.Document.Text()
		word := text[bytes.LastIndexByte(text, ' ')+1 : len(text)-1]
		res, err := s.shared.Search(ctx, shard.Query{Text: string(word), Limit: 3})
		if err != nil {
			return err
		}
		if len(res.Hits) != 1 || res.Hits[0].Passage.Header.Root != e.Document.Root() {
			return fmt.Errorf("a search for %q does not find it", word)
		}
	}
	return nil
}

// A hold is what documents are read from.
type hold interface {
	Document(context.Context, document.Root) (*document.Document, error)
	History(context.Context, string) ([]shard.Version, error)
}

// holds fails where a document is not there, byte for byte.
func holds(ctx context.Context, from hold, entries []document.Entry) error {
	for _, e := range entries {
		d, err := from.Document(ctx, e.Document.Root())
		if err != nil {
			return err
		}
		if !bytes.Equal(d.Text(), e.Document.Text()) {
			return fmt.Errorf("%s has another text", d.Root())
		}
		versions, err := from.History(ctx, e.Location.URI)
		if err != nil {
			return err
		}
		there := false
		for _, v := range versions {
			there = there || v.Root == e.Document.Root()
		}
		if !there {
			return fmt.Errorf("%s is not at %s", d.Root(), e.Location.URI)
		}
	}
	return nil
}
