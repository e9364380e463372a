package fetch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A Recorder keeps what was asked of servers and what they answered, as an
// archive does. It is safe for concurrent use. Once it fails it goes on
// failing: a fetcher hands its error on without a class, which ends a crawl.
type Recorder interface {
	Record(Exchange) error
}

// An Exchange is one request with its answer. The recorder must not change
// what it points to, nor keep it.
type Exchange struct {
	URL string
	At  time.Time // of the request

	// Method, Target, Request and Header are as on the wire; where they are
	// missing, nobody here saw the exchange, and Body is the page that came of it.
	Method  string
	Target  string // of the request line
	Request http.Header
	Status  int
	Header  http.Header

	ContentType string // of Body where there is no Header
	Body        []byte // as sent, content codings included
	Cut         bool   // Body is not all of it
}

// A tape takes down the body of an answer while it is read.
type tape struct {
	on  bool
	buf bytes.Buffer
}

// listen gives r with everything that is read of it on the tape.
func (t *tape) listen(r io.Reader) io.Reader {
	if !t.on {
		return r
	}
	return io.TeeReader(r, &t.buf)
}

// record hands an exchange to the recorder, if there is one.
func (h *HTTP) record(req Request, hreq *http.Request, at time.Time, hr *http.Response, t *tape, cut bool) error {
	if h.cfg.Recorder == nil {
		return nil
	}
	request := hreq.Header.Clone()
	request.Set("Host", hreq.Host)
	err := h.cfg.Recorder.Record(Exchange{
		URL: req.URL, At: at, Method: hreq.Method, Target: hreq.URL.RequestURI(), Request: request,
		Status: hr.StatusCode, Header: hr.Header, Body: t.buf.Bytes(), Cut: cut,
	})
	if err != nil {
		return fmt.Errorf("record %s: %w", clip(redact(req.URL), 200), err)
	}
	return nil
}
