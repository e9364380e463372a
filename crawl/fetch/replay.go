package fetch

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// maxSent is how often one fetch may send its request. A server may close a kept
// connection at the moment at which the next request goes out on it, so net/http
// sends that again, at once, and for as many kept connections as there are: a server
// that closes each without an answer would get one fetch many times, at no pace.
const maxSent = 2

// bounded returns a context under which a request is given up before it is sent more
// than maxSent times, and whether it was.
func bounded(ctx context.Context, giveUp func()) (_ context.Context, tooOften func() bool) {
	var sent atomic.Int32
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if sent.Add(1) > maxSent {
			giveUp()
		}
	}}), func() bool { return sent.Load() > maxSent }
}
