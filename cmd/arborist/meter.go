package main

import (
	"fmt"
	"time"

	"arborist/daemon/api"
)

// A meter knows how fast a stage of a long call goes and when it will end.
type meter struct {
	first, last api.Progress
	start, now  time.Time
}

// meterTime is how long a stage is watched before anything is said of it.
const meterTime = time.Second

// see takes the next report. Another stage, or one that starts anew, is
// measured from its first report on: what was there before it took no time.
func (m *meter) see(p api.Progress, now time.Time) {
	if m.start.IsZero() || p.Stage != m.first.Stage || p.Done < m.last.Done || m.first.Total == 0 && p.Total > 0 {
		m.first, m.start = p, now
	}
	m.last, m.now = p, now
}

// String says the rate and the time that is left, as far as they are known.
func (m *meter) String() string {
	took := m.now.Sub(m.start)
	if took < meterTime {
		return ""
	}
	s := ""
	if n := m.last.Bytes - m.first.Bytes; n > 0 {
		s = fmt.Sprintf(", %s/s", byteSize(int64(float64(n)/took.Seconds())))
	}
	done, left := m.last.Done-m.first.Done, m.last.Total-m.last.Done
	if done > 0 && left > 0 {
		rest := time.Duration(float64(took) * float64(left) / float64(done))
		s += fmt.Sprintf(", %s left", rest.Round(time.Second))
	}
	return s
}
