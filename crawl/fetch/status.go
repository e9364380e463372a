package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// StatusError gives the error that an HTTP status means, or nil where the
// status is an answer:
//
//   - 401, 402, 403, 407, 451: the site says no, fetch_denied.
//   - 408, 425, 429 and 5xx: fetch_transient, with the Retry-After header.
//   - everything else (2xx, 3xx, 404, 410 and other 4xx): an answer.
//
// The header may be nil.
func StatusError(url string, status int, header http.Header) *Error {
	e := &Error{URL: url, Status: status, Reason: "status " + strconv.Itoa(status)}
	switch {
	case status == 401, status == 402, status == 403, status == 407, status == 451:
		e.Class = Denied
	case status == 408, status == 425, status == 429, status >= 500, status < 200:
		e.Class = Transient
		e.RetryAfter = retryAfter(header.Get("Retry-After"), time.Now())
	default:
		return nil
	}
	if text := http.StatusText(status); text != "" {
		e.Reason += " " + strings.ToLower(text)
	}
	return e
}

// maxRetryAfter caps what a server may ask for: one header must not stop a
// crawl for a year.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads a Retry-After header: seconds, or a date. What cannot be
// read, and a date that is past, is 0.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		n, err := strconv.ParseUint(value, 10, 32)
		if err != nil || n > uint64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}
