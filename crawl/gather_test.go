package crawl

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestResultsOfVisitsThatEndTogetherAreTakenTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		ends []time.Duration // of the visits under way
		want int             // results taken
		at   time.Duration
	}{
		"all":         {[]time.Duration{1, 2, 3}, 3, 3},
		"one is late": {[]time.Duration{1, 2, gatherTime / time.Millisecond * 2}, 2, gatherTime / time.Millisecond},
		"all are in":  {[]time.Duration{0, 0}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &run{results: newInbox(), inFlight: len(tc.ends)}
				for _, after := range tc.ends {
					time.AfterFunc(after*time.Millisecond, func() { r.results.put(visited{}) })
				}
				if tc.at == 0 {
					time.Sleep(time.Nanosecond)
				}
				begun := time.Now()
				r.gather(t.Context())
				if took := time.Since(begun); took != tc.at*time.Millisecond {
					t.Errorf("%v, want %d ms", took, tc.at)
				}
				if got := len(r.results.take()); got != tc.want {
					t.Errorf("%d results, want %d", got, tc.want)
				}
				time.Sleep(time.Second)
			})
		})
	}
}
