package peer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/libp2p/go-libp2p/p2p/net/swarm"
)

// saidAddresses is how many addresses the error of a dial names.
const saidAddresses = 4

// A dialError is libp2p's error of a dial on one line.
type dialError struct {
	text string
	err  error
}

func (e *dialError) Error() string { return e.text }
func (e *dialError) Unwrap() error { return e.err }

// shortDial has the error of a dial say of each address why it was not reached,
// and nothing twice. Other errors stay as they are.
func shortDial(err error) error {
	var dial *swarm.DialError
	if !errors.As(err, &dial) || len(dial.DialErrors) == 0 && dial.Cause == nil {
		return err
	}
	if len(dial.DialErrors) == 0 {
		return &dialError{innermost(dial.Cause).Error(), err}
	}
	var tried []string
	for _, at := range dial.DialErrors[:min(saidAddresses, len(dial.DialErrors))] {
		tried = append(tried, fmt.Sprintf("%s: %v", at.Address, innermost(at.Cause)))
	}
	if more := len(dial.DialErrors) + dial.Skipped - len(tried); more > 0 {
		tried = append(tried, fmt.Sprintf("and %d more addresses", more))
	}
	return &dialError{strings.Join(tried, "; "), err}
}

// innermost returns the error that an error is about in the end: connection refused,
// for example, without the call that said so.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
