package pdf

import (
	"strings"
	"testing"
	"time"
)

func TestLimitsCountProcessorTimeAndSilence(t *testing.T) {
	limits := Limits{Page: 2 * time.Second, Total: 5 * time.Second, Silence: time.Minute}
	start := time.Unix(1_000_000, 0)
	type sight struct {
		wall, cpu time.Duration
		unknown   bool
		pages     int64
	}
	s := time.Second
	for name, c := range map[string]struct {
		sights []sight
		want   string // of the last; none of the others is over
	}{
		"a slow page":           {[]sight{{wall: 2 * s, cpu: 2 * s}, {wall: 3 * s, cpu: 3 * s}}, "one page takes over 2s"},
		"pages come":            {[]sight{{wall: s, cpu: s, pages: 1}, {wall: 3 * s, cpu: 3 * s, pages: 2}, {wall: 5 * s, cpu: 5 * s, pages: 2}}, ""},
		"too many of them":      {[]sight{{wall: 2 * s, cpu: 2 * s, pages: 1}, {wall: 4 * s, cpu: 4 * s, pages: 2}, {wall: 6 * s, cpu: 6 * s, pages: 3}}, "it takes over 5s"},
		"a busy machine":        {[]sight{{wall: 50 * s, cpu: s}}, ""},
		"nothing happens":       {[]sight{{wall: 59 * s, cpu: s}, {wall: 61 * s, cpu: s}}, "nothing was heard of the worker for 1m0s"},
		"life after a while":    {[]sight{{wall: 59 * s, pages: 1}, {wall: 118 * s, pages: 1}}, ""},
		"no clock but the wall": {[]sight{{wall: 50 * s, cpu: 50 * s, unknown: true}}, ""},
	} {
		before := 7 * time.Second // of the files that the process has read already
		m := newMeter(limits, start, before)
		for i, at := range c.sights {
			err := m.over(start.Add(at.wall), before+at.cpu, !at.unknown, at.pages)
			want := c.want
			if i < len(c.sights)-1 {
				want = ""
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, sight %d: %v, want %q", name, i, err, want)
			}
		}
	}
}
