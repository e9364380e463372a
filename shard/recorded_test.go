package shard

import (
	"testing"
	"time"

	"arborist/document"
)

// What an archive has recorded does not take the place of what was found later, in
// whatever order the two come, and does not retell where the same was found.
func TestWhatIsRecordedHidesNothingThatWasFoundLater(t *testing.T) {
	day := func(text string, day int, source string) document.Entry {
		e := entry(t, "test:x", text)
		e.Location.Source, e.Location.FetchedAt = source, time.Date(2026, 5, day, 0, 0, 0, 0, time.UTC)
		e.Recorded = source == "warc"
		return e
	}
	last := func(v []Version) (l Version) {
		for _, v := range v {
			if v.Current {
				l = v
			}
		}
		return l
	}
	for _, c := range []struct {
		name    string
		put     []document.Entry
		want    document.Outcome // of the last
		current string
		source  string
		count   int // versions
	}{
		{"older, another text", []document.Entry{day("new", 9, "crawl"), day("old", 2, "warc")}, document.Outcome{Older: true}, "new", "crawl", 1},
		{"older, the same text", []document.Entry{day("new", 9, "crawl"), day("new", 2, "warc")}, document.Outcome{Unchanged: true}, "new", "crawl", 1},
		{"later, the same text", []document.Entry{day("new", 9, "crawl"), day("new", 12, "warc")}, document.Outcome{Unchanged: true}, "new", "crawl", 1},
		{"later, another text", []document.Entry{day("old", 2, "crawl"), day("new", 9, "warc")}, document.Outcome{New: true, Superseded: entry(t, "test:x", "old").Document.Root()}, "new", "warc", 2},
		{"two archives, the newer first", []document.Entry{day("new", 9, "warc"), day("old", 2, "warc")}, document.Outcome{Older: true}, "new", "warc", 1},
		{"two archives, the older first", []document.Entry{day("old", 2, "warc"), day("new", 9, "warc")}, document.Outcome{New: true, Superseded: entry(t, "test:x", "old").Document.Root()}, "new", "warc", 2},
		{"found again after an archive", []document.Entry{day("new", 2, "warc"), day("new", 9, "crawl")}, document.Outcome{}, "new", "crawl", 1},
		{"what is found now counts, whatever its time", []document.Entry{day("new", 9, "directory"), day("old", 2, "directory")}, document.Outcome{New: true, Superseded: entry(t, "test:x", "new").Document.Root()}, "old", "directory", 2},
	} {
		for _, shards := range []int{1, 16} {
			s := newShared(t, shards)
			for i, e := range c.put {
				out := put1(t, s, e)[0]
				if i == len(c.put)-1 && out != c.want {
					t.Errorf("%s: outcome %+v, want %+v", c.name, out, c.want)
				}
			}
			history, err := s.History(t.Context(), "test:x")
			if err != nil {
				t.Fatal(err)
			}
			if now := last(history); now.Root != entry(t, "test:x", c.current).Document.Root() || now.Location.Source != c.source || len(history) != c.count {
				t.Errorf("%s: %d versions, current is %+v", c.name, len(history), now)
			}
			mustCheck(t, s)
		}
	}
}

// Nor does a log list what its shards did not take.
func TestALogDoesNotListWhatWasLeftOutAsOlder(t *testing.T) {
	s := newShared(t, 4)
	p := newPublisher(t, s)
	now, past := entry(t, "test:x", "what stands there now"), entry(t, "test:x", "what stood there once")
	now.Location.FetchedAt = past.Location.FetchedAt.Add(time.Hour)
	past.Recorded = true
	for _, entries := range [][]document.Entry{{now}, {past, entry(t, "test:y", "another")}, {past}} {
		if _, err := p.Put(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
	}
	info, err := s.Corpora().Lookup(t.Context(), p.origin)
	if err != nil || info.Size != 2 {
		t.Fatalf("the log has %d records, want 2; %v", info.Size, err)
	}
	mustCheck(t, s)
}
