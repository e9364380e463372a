package weburl

import "strings"

// DefaultTracking returns the query parameters that say who sent a visitor and
// never which page is meant. A name that ends in "*" stands for all names with
// that beginning. Names are compared without regard to case.
//
// The list holds what analytics and advertising products document as theirs.
// Names that sites also use for content ("ref", "source", "id", "sid") are
// left out: a page lost is worse than a page twice.
func DefaultTracking() []string {
	return []string{
		"utm_*",                    // Google Analytics campaigns
		"gclid", "gclsrc", "dclid", // Google Ads, Campaign Manager
		"gbraid", "wbraid", "gad_source", "gad_campaignid",
		"_ga", "_gl", // Google cross-domain linker
		"srsltid",                                    // Google Merchant Center
		"fbclid", "fb_action_ids", "fb_action_types", // Meta
		"igshid", "igsh", // Instagram
		"msclkid",                      // Microsoft Advertising
		"twclid",                       // X
		"ttclid",                       // TikTok
		"li_fat_id",                    // LinkedIn
		"yclid", "ysclid", "_openstat", // Yandex
		"epik",             // Pinterest
		"mc_cid", "mc_eid", // Mailchimp
		"_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", // HubSpot
		"mkt_tok",              // Marketo
		"vero_id", "vero_conv", // Vero
		"oly_anon_id", "oly_enc_id", // Omeda
		"mtm_*", "pk_campaign", "pk_kwd", "pk_source", "pk_medium", "pk_content", // Matomo
		"wickedid", // Wicked Reports
		"s_cid",    // Adobe Analytics
	}
}

// tracking is a compiled list of parameter names.
type tracking struct {
	exact    map[string]bool
	prefixes []string
}

func newTracking(names []string) tracking {
	t := tracking{exact: make(map[string]bool, len(names))}
	for _, name := range names {
		name = strings.ToLower(name)
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			t.prefixes = append(t.prefixes, prefix)
		} else {
			t.exact[name] = true
		}
	}
	return t
}

func (t tracking) names(name string) bool {
	name = strings.ToLower(name)
	if t.exact[name] {
		return true
	}
	for _, prefix := range t.prefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// strip returns the query without its tracking parameters and whether any was
// there. The bytes and the order of the others stay.
func (t tracking) strip(query string) (kept string, changed bool) {
	parts := strings.Split(query, "&")
	rest := parts[:0]
	for _, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if name == "" || !t.names(name) {
			rest = append(rest, part)
		}
	}
	if len(rest) == len(parts) {
		return query, false
	}
	return strings.Join(rest, "&"), true
}
