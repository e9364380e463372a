package peer

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/libp2p/go-libp2p/p2p/net/swarm"
)

// What a user reads of a failed dial is the address and why, on one line.
func TestAFailedDialSaysWhyOfEachAddress(t *testing.T) {
	n, other := newNode(t).up(nil), newNode(t)
	addr := func(port string) string { return "/ip4/127.0.0.1/tcp/" + port }
	_, err := n.peer.Join(t.Context(), addr("1")+"/p2p/"+other.id)
	if want := addr("1") + ": connection refused"; err == nil || !strings.HasSuffix(err.Error(), ": "+want) || strings.Contains(err.Error(), "dial") {
		t.Errorf("join fails with %q, want the end %q", err, want)
	}
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the error %q no longer tells what it is", err)
	}
	var many swarm.DialError
	for range saidAddresses + 3 {
		many.DialErrors = append(many.DialErrors, swarm.TransportError{Cause: syscall.ETIMEDOUT})
	}
	many.Skipped = 2
	if got := shortDial(&many).Error(); !strings.HasSuffix(got, "and 5 more addresses") {
		t.Errorf("%q", got)
	}
	for _, other := range []error{&swarm.DialError{Cause: swarm.ErrNoAddresses}, &swarm.DialError{}, errors.New("another")} {
		if got := shortDial(other); !strings.Contains(other.Error(), got.Error()) {
			t.Errorf("of %q remains %q", other, got)
		}
	}
}
