package main

import (
	"testing"
	"time"

	"arborist/daemon/api"
)

func TestProgressSaysRateAndTimeLeft(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds float64, stage string, done, total, bytes int64) func(*meter) {
		return func(m *meter) {
			m.see(api.Progress{Stage: stage, Done: done, Total: total, Bytes: bytes}, start.Add(time.Duration(seconds*float64(time.Second))))
		}
	}
	for _, c := range []struct {
		name  string
		steps []func(*meter)
		want  string
	}{
		{"nothing yet", nil, ""},
		{"too early", []func(*meter){at(0, "fetch", 0, 100, 0), at(0.5, "fetch", 50, 100, 500)}, ""},
		{"half", []func(*meter){at(0, "fetch", 0, 100, 0), at(10, "fetch", 50, 100, 50_000)}, ", " + byteSize(5000) + "/s, 10s left"},
		{"what was here before took no time", []func(*meter){at(0, "fetch", 900, 1000, 0), at(10, "fetch", 950, 1000, 0)}, ", 10s left"},
		{"another stage", []func(*meter){at(0, "verify", 0, 0, 0), at(60, "fetch", 0, 100, 0), at(61, "fetch", 10, 100, 1000)}, ", " + byteSize(1000) + "/s, 9s left"},
		{"no total", []func(*meter){at(0, "fetch", 0, 0, 0), at(2, "fetch", 10, 0, 2000)}, ", " + byteSize(1000) + "/s"},
		{"the end", []func(*meter){at(0, "fetch", 0, 10, 0), at(2, "fetch", 10, 10, 2000)}, ", " + byteSize(1000) + "/s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m meter
			for _, step := range c.steps {
				step(&m)
			}
			if got := m.String(); got != c.want {
				t.Errorf("says %q, want %q", got, c.want)
			}
		})
	}
}
