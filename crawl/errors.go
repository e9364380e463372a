package crawl

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"arborist/crawl/internal/crawldb"
)

// What can be wrong with a crawl from its start. A [SeedError] wraps one of
// them, and the cause beside it.
var (
	// ErrSeedURL: the seed is no address that a crawl can start at.
	ErrSeedURL = errors.New("not a seed URL")
	// ErrSeedAddress: the seed is on a network that is not allowed.
	ErrSeedAddress = errors.New("network not allowed")
	// ErrSeedUnreachable: the seed's host gave no usable answer.
	ErrSeedUnreachable = errors.New("no answer")
	// ErrSeedRobots: robots.txt does not let the seed be fetched.
	ErrSeedRobots = errors.New("denied by robots.txt")
	// ErrSeedRedirect: the seed leads to another host or in a circle.
	ErrSeedRedirect = errors.New("redirected away")
	// ErrSeedNotPage: the seed's answer is no page: a status of 400 or more, or
	// another kind of content.
	ErrSeedNotPage = errors.New("not a page")

	// ErrHost: an entry of Config.AllowHosts is not a host.
	ErrHost = errors.New("not a host")
	// ErrAuthor: Config.Author is no name on one line, or a very long one.
	ErrAuthor = errors.New("not an author's name")
	// ErrNothingToResume: Config.Resume, and the store knows no crawl of the
	// seed.
	ErrNothingToResume = errors.New("nothing to resume")
	// ErrOtherCrawl: Config.Resume, and the crawl in the store was begun with
	// another depth.
	ErrOtherCrawl = crawldb.ErrDepth
	// ErrBusy: the store is in the middle of a crawl of the same seed.
	ErrBusy = errors.New("this seed is being crawled already")
)

// A SeedError says why a crawl could not start. Its text is one line that
// names the seed, the reason and the next step.
type SeedError struct {
	Seed   string
	Reason string
	Hint   string
	Kind   error // one of the ErrSeed… values
	Err    error // cause, may be nil
}

func (e *SeedError) Error() string {
	s := fmt.Sprintf("crawl %.300s: %s", printable(e.Seed), printable(e.Reason))
	if e.Hint != "" {
		s += "; " + printable(e.Hint)
	}
	return s
}

// Unwrap gives the kind and the cause.
func (e *SeedError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// A HostDownError ends a crawl whose host stopped answering or asked to be
// left alone for long. What was fetched is kept, and what was not is still
// waiting: a crawl with a store can be resumed.
type HostDownError struct {
	Host   string
	Reason string        // of the last failure
	Pause  time.Duration // that the host asked for, 0 where it gave no answer
	Resume bool          // the crawl can be resumed
}

func (e *HostDownError) Error() string {
	again := "crawl it again later"
	if e.Resume {
		again = "go on later with --resume"
	}
	if e.Pause > 0 {
		return fmt.Sprintf("crawl %s: it asks to be left alone for %v (%s); %s", e.Host, e.Pause.Round(time.Second), printable(e.Reason), again)
	}
	return fmt.Sprintf("crawl %s: it stopped answering (%s); %s", e.Host, printable(e.Reason), again)
}

// HostsDown reports whether an error says nothing but that hosts were left alone,
// which a crawl of others outlives.
func HostsDown(err error) bool {
	switch e := err.(type) {
	case *HostDownError:
		return true
	case interface{ Unwrap() error }:
		return HostsDown(e.Unwrap())
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !HostsDown(err) })
	}
	return false
}

// printable keeps a line that strangers had a word in to one line.
func printable(s string) string {
	clean := []rune(s)
	for i, r := range clean {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			clean[i] = '?'
		}
	}
	return string(clean)
}
