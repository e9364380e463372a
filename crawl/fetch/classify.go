package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"arborist/crawl/egress"
)

var (
	// ErrTooLarge is wrapped by resource_limit errors: a body or header over
	// its limit.
	ErrTooLarge = errors.New("over the size limit")

	errTimeout  = errors.New("page timeout")
	errEncoding = errors.New("not understood")
)

// Reasons of [Error] that [Error.Dropped] knows.
const (
	reasonReset = "connection reset"
	reasonCut   = "answer cut short"
)

// classify turns an error of the transport or the body into what [Fetcher]
// promises. caller is the context that the caller gave, timed the one with
// our own limit.
func classify(caller, timed context.Context, url, during string, err error) error {
	if caller.Err() != nil {
		return context.Cause(caller)
	}
	e := &Error{URL: url, Class: Transient, Reason: during, Err: err}
	var (
		dns    *net.DNSError
		cert   *tls.CertificateVerificationError
		netErr net.Error
	)
	switch {
	case errors.Is(err, egress.ErrDenied):
		e.Class, e.Reason = Denied, "address not allowed"
	case errors.Is(err, ErrTooLarge), tooWide(err):
		e.Class, e.Reason = ResourceLimit, "too large"
	case errors.Is(err, errEncoding):
		e.Class, e.Reason = Denied, "content coding"
	case headerTooLarge(err):
		e.Class, e.Reason, e.Err = ResourceLimit, "response header too large", fmt.Errorf("%w: %w", ErrTooLarge, err)
	case timed.Err() != nil:
		e.Reason, e.Err = "timeout", context.Cause(timed)
	case errors.As(err, &dns) && dns.IsNotFound:
		e.Class, e.Reason = Denied, "no such host"
	case errors.As(err, &dns):
		e.Reason = "name not resolved"
	case errors.As(err, &cert):
		e.Class, e.Reason = Denied, "tls certificate not valid"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		e.Reason = "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Reason = "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		e.Reason = reasonReset
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Reason = reasonCut
	}
	return e
}

// headerTooLarge recognises the transport's refusal of an over-long header,
// which it gives only as text; a test holds it to that text.
func headerTooLarge(err error) bool {
	s := err.Error()
	return strings.Contains(s, "response headers exceeded") ||
		strings.Contains(s, "response header list larger")
}
