package shard

import (
	"errors"
	"strings"
	"testing"
	"time"

	"arborist/document"
)

func TestMatcherTellsWhatThePassageShows(t *testing.T) {
	const text, origin, uri = "The old quarry gave grey granite, C++ and sqlite3_open_v2.", "12D3KooWPeer/main", "https://docs.example.org/quarry"
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for query, want := range map[string]Match{
		"granite":                     MatchAll,
		"granite quarries":            MatchAll, // one stem
		"granite basalt":              MatchSome,
		"basalt":                      MatchNone,
		`"grey granite"`:              MatchAll,
		`"granite grey"`:              MatchNone,
		"granite -basalt":             MatchAll,
		"granite -grey":               MatchNone,
		"gran*":                       MatchAll,
		"sqlite3_open_v2":             MatchAll,
		"sqlite3_close":               MatchSome,
		"c++":                         MatchAll,
		"granite site:example.org":    MatchAll,
		"granite site:example.com":    MatchNone,
		"granite corpus:main":         MatchAll,
		"granite corpus:other":        MatchNone,
		"granite after:2026-05-01":    MatchAll,
		"granite after:2026-05-02":    MatchNone,
		"granite before:2026-05-02":   MatchAll,
		"granite before:2026-05-01":   MatchNone,
		"basalt granite before:2020":  MatchNone,
		"basalt slate -quarry granit": MatchNone,
	} {
		m, err := NewMatcher(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Match([]byte(text), origin, uri, at); got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	if _, err := NewMatcher("!!!"); !errors.Is(err, ErrNoWords) {
		t.Errorf("a query without words: %v", err)
	}
}

// Whatever a search finds, the matcher finds in its passage; and what the
// search leaves out, it does not call a full match.
func TestMatcherAgreesWithSearch(t *testing.T) {
	s := newShared(t, 2)
	var entries []document.Entry
	for i, text := range benchLikeTexts() {
		d, err := document.New([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, document.Entry{Document: d, Location: document.Location{URI: "test:" + string(rune('a'+i)), Source: "test", FetchedAt: fetched}})
	}
	if _, err := s.Put(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"granite", "granite quarry", "granite basalt", `"old quarry"`, "quar*", "granite -quarry", "slate nothing", "multi-agent", "agents"} {
		r, err := s.Search(t.Context(), Query{Text: query, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		m, err := NewMatcher(query)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			found[string(h.Passage.Text)] = true
			got := m.Match(h.Passage.Text, h.Location.Corpus, h.Location.URI, h.Location.FetchedAt)
			if got == MatchNone || r.Mode == ModeAnd && got != MatchAll {
				t.Errorf("%s: found %q, which matches %v", query, h.Passage.Text, got)
			}
		}
		for _, e := range entries {
			for i := range e.Document.Chunks() {
				text := e.Document.Chunk(i)
				if got := m.Match(text, "", e.Location.URI, fetched); got == MatchAll && !found[string(text)] {
					t.Errorf("%s: not found %q, which matches all", query, text)
				}
			}
		}
	}
}

func benchLikeTexts() []string {
	return strings.Split(`The old quarry gave grey granite.
Granite and slate, no pit.
Basalt from the old quarry.
A multi-agent system of agents.
The multi agent of an agent.
Quarter past nine.
Slate.`, "\n")
}
