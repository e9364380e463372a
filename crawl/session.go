package crawl

import (
	"hash/maphash"
	"strings"

	"arborist/crawl/internal/weburl"
)

// A site that keeps its sessions in its addresses shows a crawler, which keeps
// no cookies, every page under a new address each time. The session is not cut
// out of the address, since some servers answer nothing without it; but one
// page is fetched under so many of them only.
const (
	sessionBudget = 2
	maxSessions   = 1 << 18 // addresses that are remembered
)

// sessionName knows the parameters in which the usual servers and frameworks
// keep a session, in a query or after a semicolon in the path. A name that is
// used for other things as well needs a value that looks random.
func sessionName(name, value string) bool {
	name = strings.ToLower(name)
	switch name {
	case "jsessionid", "phpsessid", "sessionid", "session_id", "session-id", "cfid", "cftoken", "zenid", "oscsid", "xtcsid", "phpsession":
		return true
	case "sid", "s", "session":
		return len(value) >= 16 && strings.ContainsAny(value, "0123456789")
	}
	return strings.HasPrefix(name, "aspsessionid")
}

// withoutSession gives an address without the sessions in it, and whether there
// was one.
func withoutSession(u weburl.URL) (rest string, found bool) {
	if !strings.ContainsAny(u.Target(), ";?") {
		return "", false
	}
	keep := func(part string) bool {
		name, value, _ := strings.Cut(part, "=")
		is := sessionName(name, value)
		found = found || is
		return !is
	}
	var b strings.Builder
	b.WriteString(u.Origin())
	for segment := range strings.SplitAfterSeq(u.Path(), "/") {
		name, parameters, any := strings.Cut(segment, ";")
		b.WriteString(name)
		for parameters != "" && any {
			var p string
			p, parameters, _ = strings.Cut(parameters, ";")
			if p = strings.TrimSuffix(p, "/"); keep(p) {
				b.WriteString(";" + p)
			}
		}
		if any && strings.HasSuffix(segment, "/") {
			b.WriteByte('/')
		}
	}
	for part := range strings.SplitSeq(u.Query(), "&") {
		if keep(part) {
			b.WriteString("&" + part)
		}
	}
	return b.String(), found
}

// sameSession refuses a page that was fetched under several sessions already.
func (t *traps) sameSession(u weburl.URL) string {
	page, found := withoutSession(u)
	if !found {
		return ""
	}
	key := maphash.String(t.seed, page)
	n := t.sessions[key]
	if n >= sessionBudget {
		return "trap: the same page under yet another session"
	}
	if n > 0 || len(t.sessions) < maxSessions {
		t.sessions[key]++
	}
	return ""
}
