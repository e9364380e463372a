package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// drainLimit is how much of an unwanted body is read to keep the connection,
// and drainTime how long that may take.
const (
	drainLimit = 16 << 10
	drainTime  = time.Second
)

// documentStart is how much of a body [Request.Document] is asked about, in
// bytes.
const documentStart = 512

// answer turns the transport's response into ours. The header decides first
// what becomes of the body. cut says that not all of it was read.
func (h *HTTP) answer(caller, timed context.Context, cancel context.CancelFunc, req Request, t target, hr *http.Response, tape *tape) (resp Response, cut bool, err error) {
	if e := StatusError(req.URL, hr.StatusCode, hr.Header); e != nil {
		return Response{}, !drain(hr, cancel, tape), e
	}
	resp = Response{
		URL:         req.URL,
		Status:      hr.StatusCode,
		ContentType: hr.Header.Get("Content-Type"),
		ETag:        validator(hr.Header.Get("ETag")),
		Modified:    validator(hr.Header.Get("Last-Modified")),
		RobotsTag:   hr.Header.Values("X-Robots-Tag"),
	}
	if isRedirect(hr.StatusCode) {
		resp.Location = t.resolve(hr.Header.Get("Location"))
	}
	if hr.StatusCode == http.StatusNotModified && req.ETag == "" && req.Modified == "" {
		return Response{}, false, &Error{URL: req.URL, Class: Transient, Status: hr.StatusCode, Reason: "status 304 to a request without validators"}
	}
	if hr.StatusCode >= 300 || hr.StatusCode == http.StatusNoContent {
		return resp, !drain(hr, cancel, tape), nil
	}
	if !req.AnyType {
		if kind := mediaType(resp.ContentType); !wanted(kind, h.cfg.Types) && !isDocument(req, kind, hr) {
			resp.Skipped = "content type " + clip(kind, 100) + " is not wanted"
			return resp, true, nil
		}
	}
	resp.Body, resp.Truncated, resp.Wire, err = h.body(req, hr, tape)
	if err != nil {
		return Response{}, true, classify(caller, timed, req.URL, "reading the body", err)
	}
	return resp, resp.Truncated, nil
}

// body reads and decodes the body of hr within the limits.
func (h *HTTP) body(req Request, hr *http.Response, tape *tape) (body []byte, cut bool, wire int64, err error) {
	limit, prefix := h.cfg.MaxBody, req.Prefix > 0
	if prefix {
		limit = min(limit, req.Prefix)
	} else if hr.ContentLength > limit {
		return nil, false, 0, tooLarge("declared length", limit)
	}
	raw := &counted{r: tape.listen(hr.Body), what: "body as sent", limit: h.cfg.MaxBody}
	decoded, done, err := h.decoders.open(hr.Header.Values("Content-Encoding"), raw, h.cfg.MaxBody)
	if err != nil {
		return nil, false, raw.n, err
	}
	defer done()
	pieces, more, err := readUpTo(decoded, limit, sizeHint(hr, limit), req.Buffer)
	switch {
	case err != nil:
		return nil, false, raw.n, err
	case more && !prefix:
		return nil, false, raw.n, tooLarge("decoded body", limit)
	case !more:
		// A decoder may stop before the end of what was sent. What is left
		// is read, so that a body cut short on the wire is seen as such.
		if _, err := io.Copy(io.Discard, raw); err != nil {
			return nil, false, raw.n, err
		}
	}
	return join(pieces, limit), more, raw.n, nil
}

func sizeHint(hr *http.Response, limit int64) int64 {
	if hr.ContentLength < 0 || hr.Header.Get("Content-Encoding") != "" {
		return 0
	}
	// The declared length is the server's word: believe it only so far.
	return min(hr.ContentLength, limit, 256<<10)
}

// validator drops what is too long to be kept beside a page.
func validator(v string) string {
	if len(v) > 512 {
		return ""
	}
	return v
}

// mediaType gives the type of a Content-Type header in lower case, without
// parameters, and "" where there is none.
func mediaType(header string) string {
	if kind, _, err := mime.ParseMediaType(header); err == nil || errors.Is(err, mime.ErrInvalidMediaParameter) {
		return kind
	}
	kind, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func wanted(kind string, types []string) bool {
	if slices.Contains(types, kind) {
		return true
	}
	family, _, _ := strings.Cut(kind, "/")
	return family != "" && slices.Contains(types, family+"/*")
}

// isDocument asks the caller about the start of a body whose type tells nothing,
// and leaves the body whole. One that is encoded is not asked about: document
// files are compressed already, or servers do not know what they are.
func isDocument(req Request, kind string, hr *http.Response) bool {
	family, _, _ := strings.Cut(kind, "/")
	if req.Document == nil || family != "application" && family != "binary" || hr.Header.Get("Content-Encoding") != "" {
		return false
	}
	body := bufio.NewReaderSize(hr.Body, documentStart)
	start, _ := body.Peek(documentStart) // an error comes again when it is read
	hr.Body = struct {
		io.Reader
		io.Closer
	}{body, hr.Body}
	return req.Document(start)
}

// drain reads a small body that nobody wants, so that the connection can be
// used again. One that is large or slow is left to be cut off. It reports
// whether the body was read to its end.
func drain(hr *http.Response, cancel context.CancelFunc, tape *tape) bool {
	// After "101 Switching Protocols" the body is the bare connection, which
	// no context ends: it is only to be closed.
	if hr.ContentLength > drainLimit || hr.StatusCode < 200 {
		return false
	}
	timer := time.AfterFunc(drainTime, cancel)
	defer timer.Stop()
	_, err := io.CopyN(io.Discard, tape.listen(hr.Body), drainLimit)
	return err == io.EOF
}
