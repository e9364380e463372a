package crash_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"arborist/crawl"
	"arborist/daemon"
	"arborist/document"
	"arborist/proof"
	"arborist/shard"
)

// A schedule says how much a recorded program does. Its text form stands in
// workVariable.
type schedule struct {
	Shards, Rounds, Reopens int
	// Insist makes it go on where a step failed: it tries again, every second
	// time as a new program, as after a kill.
	Insist bool
	// Drop makes it take out, in the end, what it has stored.
	Drop bool
}

func (s schedule) String() string {
	return fmt.Sprintf("%d,%d,%d,%t,%t", s.Shards, s.Rounds, s.Reopens, s.Insist, s.Drop)
}

func parseSchedule(text string) (s schedule, err error) {
	_, err = fmt.Sscanf(text, "%d,%d,%d,%t,%t", &s.Shards, &s.Rounds, &s.Reopens, &s.Insist, &s.Drop)
	return s, err
}

// uris is how many places the documents take turns in: later rounds supersede
// what earlier ones put, mostly in another file.
const uris = 7

// batch is what round n puts: three documents of several chunks.
func batch(n int, private bool) []document.Entry {
	var entries []document.Entry
	for i := 3 * n; i < 3*n+3; i++ {
		word, source := "shared", "work"
		if private {
			word, source = "private", "crawl"
		}
		text := fmt.Sprintf("# Page %d\n\n%s\n\n## Second part\n\n%s\n\nThe end of the %s page%dend.", i,
			strings.Repeat(fmt.Sprintf("Number %d is told here at some length. ", i), 60),
			strings.Repeat(fmt.Sprintf("Filling of %s %d. ", word, i*i), 40), word, i)
		d, err := document.New([]byte(text))
		if err != nil {
			panic(err)
		}
		entries = append(entries, document.Entry{Document: d, Location: document.Location{
			URI: fmt.Sprintf("https://example.org/%d", i%uris), Source: source, FetchedAt: time.Unix(1700000000, 0).UTC(),
		}})
	}
	return entries
}

// stores is a home opened without the daemon around it.
type stores struct {
	shared    *shard.Shared
	private   *crawl.Private
	origin    string
	publisher *shard.Publisher
}

func openStores(home daemon.Home, peerID string) (*stores, error) {
	key, err := os.ReadFile(home.CorpusKey(daemon.MainCorpus))
	if err != nil {
		return nil, err
	}
	signer, err := proof.ParseSigner(strings.TrimSpace(string(key)))
	if err != nil {
		return nil, err
	}
	s := &stores{origin: peerID + "/" + daemon.MainCorpus}
	if s.shared, err = shard.OpenShared(home.Shards()); err != nil {
		return nil, err
	}
	if s.private, err = crawl.OpenPrivate(home.CrawlDB()); err != nil {
		return nil, errors.Join(err, s.shared.Close())
	}
	s.publisher = s.shared.Publisher(s.origin, signer)
	return s, nil
}

func (s *stores) close() error { return errors.Join(s.private.Close(), s.shared.Close()) }

func (s *stores) put(ctx context.Context, n int, private bool) error {
	var err error
	if private {
		_, err = s.private.Put(ctx, batch(n, true))
	} else {
		_, err = s.publisher.Put(ctx, batch(n, false))
	}
	return err
}

// A worker is the program that is recorded.
type worker struct {
	schedule
	home daemon.Home
	acks *os.File
}

// work makes a home and puts documents into it, and says after each step what
// it was told is durable:
//
//	init PEER-ID
//	corpus NAME
//	shared N, private N: the documents of batch(N) are stored
//	failed STEP: with Insist only
func work(args string) error {
	parts := strings.Split(args, "|")
	w := &worker{home: daemon.Home(filepath.Join(parts[0], "home"))}
	var err error
	if w.schedule, err = parseSchedule(parts[2]); err != nil {
		return err
	}
	if w.acks, err = os.OpenFile(parts[1], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	defer w.acks.Close()
	return w.run(context.Background())
}

func (w *worker) run(ctx context.Context) error {
	var peerID string
	err := w.step("init", func() error {
		res, err := daemon.Init(ctx, w.home, w.Shards)
		peerID = res.PeerID
		return err
	})
	if err != nil {
		return err
	}
	w.ack("init %s", peerID)
	if err := w.step("corpus", func() error { return w.createCorpus(ctx, "second") }); err != nil {
		return err
	}
	w.ack("corpus second")
	per := (w.Rounds + w.Reopens) / (w.Reopens + 1)
	for from := w.from(); from < w.Rounds; from += per {
		if err := w.rounds(ctx, peerID, from, min(from+per, w.Rounds)); err != nil {
			return err
		}
	}
	if w.Drop {
		return w.drop(ctx, peerID)
	}
	return nil
}

// fromVariable is the round that a new program goes on with.
const fromVariable = "ARBORIST_CRASH_FROM"

// restartsVariable is how often it was begun anew.
const restartsVariable = "ARBORIST_CRASH_RESTARTS"

var errRestarts = errors.New("begun anew 200 times, and never came through")

func (w *worker) from() int {
	n, _ := strconv.Atoi(os.Getenv(fromVariable))
	return n
}

// restart goes on as a new program. Nothing is closed, as in a kill.
func (w *worker) restart(round int) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	restarts, _ := strconv.Atoi(os.Getenv(restartsVariable))
	if restarts++; restarts > 200 {
		return fmt.Errorf("round %d: %w", round, errRestarts)
	}
	os.Setenv(fromVariable, strconv.Itoa(round))
	os.Setenv(restartsVariable, strconv.Itoa(restarts))
	return syscall.Exec(exe, os.Args, os.Environ())
}

// step does one step, with Insist until it succeeds.
func (w *worker) step(name string, do func() error) error {
	for try := 0; ; try++ {
		err := do()
		if err == nil || !w.Insist || try == 200 {
			return err
		}
		w.ack("failed %s: %q", name, err)
	}
}

func (w *worker) ack(format string, args ...any) { fmt.Fprintf(w.acks, format+"\n", args...) }

func (w *worker) createCorpus(ctx context.Context, name string) error {
	n, err := daemon.Open(ctx, daemon.Options{Home: w.home})
	if err != nil {
		return err
	}
	_, err = n.CreateCorpus(ctx, name)
	return errors.Join(err, n.Close())
}

func (w *worker) rounds(ctx context.Context, peerID string, from, to int) error {
	var s *stores
	err := w.step("open", func() (err error) {
		s, err = openStores(w.home, peerID)
		return err
	})
	if err != nil {
		return err
	}
	for n := from; n < to; n++ {
		for _, private := range []bool{false, true} {
			if err := w.put(ctx, s, n, private); err != nil {
				return errors.Join(err, s.close())
			}
		}
	}
	if err := s.close(); err != nil && !w.Insist {
		return err
	}
	return nil
}

func (w *worker) put(ctx context.Context, s *stores, n int, private bool) error {
	word, failed := "shared", 0
	if private {
		word = "private"
	}
	err := w.step(word, func() error {
		if failed%2 == 1 {
			return w.restart(n)
		}
		err := s.put(ctx, n, private)
		if err != nil {
			failed++
		}
		return err
	})
	if err == nil {
		w.ack("%s %d", word, n)
	}
	return err
}
