package fetch

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReasonConsentWall is the reason of a fetch_denied error for a page that
// shows nothing but a demand to agree to tracking.
const ReasonConsentWall = "consent_wall"

const (
	wallText  = 6000 // characters; a page that shows more is more than a wall
	wallOther = 300  // characters beside the demand, at most
	wallLabel = 60   // bytes of a button's label
)

// WithoutWalls turns pages that are consent walls (see [IsConsentWall]) into
// fetch_denied errors. Their text is the wall's, the same on every page, and
// agreeing is not a crawler's to do.
func WithoutWalls(f Fetcher) Fetcher { return withoutWalls{f} }

type withoutWalls struct{ Fetcher }

func (f withoutWalls) Fetch(ctx context.Context, req Request) (Response, error) {
	resp, err := f.Fetcher.Fetch(ctx, req)
	if err != nil || req.AnyType || !hasPage(resp) || pageType(resp) == "" || !IsConsentWall(resp.Body) {
		return resp, err
	}
	return Response{}, &Error{URL: req.URL, Class: Denied, Status: resp.Status, Reason: ReasonConsentWall}
}

// IsConsentWall reports whether an HTML page is a consent wall:
//
//   - a button, link or field on it says "accept all" or the like, in one of
//     six languages;
//   - it speaks of at least two of: cookies, consent, privacy, personal data,
//     partners or advertising, the law;
//   - it shows at most 6,000 characters, of which at most 300 stand in
//     blocks that speak of none of these, buttons and links left out.
//
// A page with a banner shows its own text beside it, and a page about cookies
// has more to say than a wall; both are pages.
func IsConsentWall(body []byte) bool {
	if !speaksOfConsent(body) {
		return false
	}
	s := draw(body, wallText)
	if s.text > wallText || !slices.ContainsFunc(s.controls, accepts) {
		return false
	}
	topics, other := map[int]bool{}, 0
	for _, block := range s.blocks {
		found := consentTopics(block)
		for _, t := range found {
			topics[t] = true
		}
		if len(found) == 0 {
			other += utf8.RuneCountInString(block)
		}
	}
	return len(topics) >= 2 && other <= wallOther
}

// speaksOfConsent is a cheap first look that nearly every page fails: for
// "cookie", "consent", "Datenschutz", "personal data" and "confidentialité". A
// word with a rare letter is looked for at that, in a fraction of the time.
func speaksOfConsent(body []byte) bool {
	body = body[:min(len(body), sketchLimit)]
	return hasWord(body, "kie", 'k') || hasWord(body, "KIE", 'K') || hasWord(body, "utz", 'z') || hasWord(body, "CONSENT", 'C') ||
		hasWord(body, "personal", 'p') || hasWord(body, "Personal", 'P') ||
		hasWord(body, "fidentialit", 'f') || bytes.Contains(body, []byte("nsent"))
}

// hasWord reports whether text holds a word in which letter stands once.
func hasWord(text []byte, word string, letter byte) bool {
	at := strings.IndexByte(word, letter)
	for {
		i := bytes.IndexByte(text, letter)
		if i < 0 {
			return false
		}
		if end := i - at + len(word); i >= at && end <= len(text) && string(text[i-at:end]) == word {
			return true
		}
		text = text[i+1:]
	}
}

// consentTopics gives the topics of a wall that a text speaks of.
func consentTopics(text string) (found []int) {
	text = strings.ToLower(text)
	for i, words := range [][]string{
		{"cookie"},
		{"consent", "einwillig", "zustimm", "consenti", "toestemming"},
		{"privacy", "datenschutz", "confidentialité", "privacidad", "riservatezza"},
		{"personal data", "personenbezogen", "données personnelles", "données à caractère", "datos personales", "dati personali", "persoonsgegevens"},
		{"partner", "socios", "advertis", "werbung", "publicit", "pubblicit", "adverten", "tracking"},
		{"gdpr", "dsgvo", "rgpd", "avg-"},
	} {
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			found = append(found, i)
		}
	}
	return found
}

// accepts reports whether a label is that of a button that agrees.
func accepts(label string) bool {
	if len(label) > wallLabel {
		return false
	}
	label = strings.ToLower(label)
	return slices.ContainsFunc([]string{
		"accept", "agree", "allow all", "i consent", "got it",
		"akzeptier", "zustimm", "einverstanden",
		"accepter", "j'accepte", "j’accepte", "tout autoriser",
		"aceptar", "accetta", "acconsent", "accepteren", "akkoord",
	}, func(w string) bool { return strings.Contains(label, w) })
}
