package robots

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// A group collects the rules for one product token over the whole file.
type group struct {
	seen     bool // a User-agent line named it
	rules    []rule
	delay    time.Duration
	hasDelay bool
}

func (g *group) slow(d time.Duration) {
	g.delay, g.hasDelay = max(g.delay, d), true
}

// A parser walks through the lines of a file. Of all groups it keeps two: the
// one of the product token and the one of everybody.
type parser struct {
	token    string
	own, all group
	inRules  bool // the open group has had a rule: a User-agent line starts a new one
	isOwn    bool // the open group names our token
	isAll    bool // the open group names *

	// The same for Crawl-delay lines, which are no rules: they end a list of
	// agents for one another, never for the rules.
	delayed          bool
	slowOwn, slowAll bool
}

// Parse reads a robots.txt file for a crawler of the given product token,
// compared without regard to case. Groups of the same token are merged; where
// none names the token, those of * count.
func Parse(body []byte, productToken string) *Rules {
	cut := len(body) > MaxSize
	if cut {
		body = body[:MaxSize]
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	p := parser{token: strings.ToLower(productToken)}
	for len(body) > 0 {
		end := bytes.IndexAny(body, "\r\n")
		if end < 0 {
			if cut {
				break // half a line could mean anything
			}
			end = len(body)
		}
		p.line(string(body[:end]))
		body = body[min(end+1, len(body)):]
	}
	if p.own.seen {
		return build(p.own)
	}
	return build(p.all)
}

func (p *parser) line(line string) {
	line, _, _ = strings.Cut(line, "#")
	key, value, ok := split(line)
	if !ok {
		return
	}
	switch field(key) {
	case fieldAgent:
		p.agent(value)
	case fieldAllow:
		p.rule(true, value)
	case fieldDisallow:
		p.rule(false, value)
	case fieldDelay:
		p.delay(value)
	}
}

// split divides a line at its colon. A line of two words without one is read
// as if it had it: people forget.
func split(line string) (key, value string, ok bool) {
	line = strings.TrimSpace(line)
	if key, value, ok = strings.Cut(line, ":"); ok {
		return strings.TrimSpace(key), strings.TrimSpace(value), true
	}
	words := strings.Fields(line)
	if len(words) != 2 {
		return "", "", false
	}
	return words[0], words[1], true
}

type fieldKind int

const (
	fieldOther fieldKind = iota
	fieldAgent
	fieldAllow
	fieldDisallow
	fieldDelay
)

func field(key string) fieldKind {
	switch strings.ToLower(key) {
	case "user-agent", "useragent", "user agent":
		return fieldAgent
	case "allow":
		return fieldAllow
	case "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
		return fieldDisallow
	case "crawl-delay", "crawldelay", "crawl delay":
		return fieldDelay
	}
	return fieldOther
}

func (p *parser) agent(value string) {
	if p.inRules {
		p.inRules, p.isOwn, p.isAll = false, false, false
		p.delayed = true
	}
	if p.delayed {
		p.delayed, p.slowOwn, p.slowAll = false, false, false
	}
	if value == "*" || len(value) > 1 && value[0] == '*' && (value[1] == ' ' || value[1] == '\t') {
		p.isAll, p.slowAll = true, true
		return
	}
	if t := Token(value); t != "" && strings.ToLower(t) == p.token {
		p.isOwn, p.slowOwn, p.own.seen = true, true, true
	}
}

// Token gives the product token at the start of a User-Agent value:
// "Arborist" for "Arborist/1.0 (+https://example.org)".
func Token(userAgent string) string {
	end := 0
	for end < len(userAgent) && isTokenByte(userAgent[end]) {
		end++
	}
	return userAgent[:end]
}

func isTokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_'
}

func (p *parser) rule(allow bool, value string) {
	p.inRules = true
	if value == "" || !p.isOwn && !p.isAll {
		return // an empty rule matches nothing
	}
	r := rule{allow: allow, pattern: compile(value)}
	if p.isOwn {
		p.own.rules = append(p.own.rules, r)
	}
	if p.isAll {
		p.all.rules = append(p.all.rules, r)
	}
}

// delay reads a Crawl-delay, which the RFC does not have. It counts for the
// agents named since the last one: a group of nothing but a delay is common,
// and must slow nobody else.
func (p *parser) delay(value string) {
	p.delayed = true
	secs, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(secs) || secs < 0 {
		return
	}
	d := MaxDelay
	if secs < MaxDelay.Seconds() {
		d = time.Duration(secs * float64(time.Second))
	}
	if p.slowOwn {
		p.own.slow(d)
	}
	if p.slowAll {
		p.all.slow(d)
	}
}
