package main

import (
	"fmt"
	"slices"
	"time"
)

// idleFor is how long a daemon has nothing to do before its memory is read.
const idleFor = 15 * time.Second

// idle compares daemons that do nothing: the median of a few starts each.
func (b *bench) idle() error {
	ours, err := b.newNode("idle.node")
	if err != nil {
		return err
	}
	rss, own, ready, err := rest(ours.process, func() error { return ours.start() }, func() *process { return ours.process })
	if err != nil {
		return err
	}
	row("idle daemon", fmt.Sprintf("ready in %d ms, RSS %.1f MiB (%.1f its own)", ready.Milliseconds(), mib(rss), mib(own)), "")
	if b.kubo == "" {
		row("  against Kubo", "not measured: KUBO is not set", "")
		return nil
	}
	other, err := b.newKubo("idle.kubo", false)
	if err != nil {
		return err
	}
	rss2, own2, ready2, err := rest(other.process, func() error { return other.start() }, func() *process { return other.process })
	if err != nil {
		return err
	}
	row("  Kubo", fmt.Sprintf("ready in %d ms, RSS %.1f MiB (%.1f its own)", ready2.Milliseconds(), mib(rss2), mib(own2)), "")
	row("  RSS; its own; ready", fmt.Sprintf("%.2f x; %.2f x; %.2f x", float64(rss)/float64(rss2), float64(own)/float64(own2), ready.Seconds()/ready2.Seconds()), "<= 0.5 x each")
	return nil
}

// rest starts a daemon five times, leaves the last one alone, and stops it.
func rest(first *process, again func() error, now func() *process) (rss, own int64, ready time.Duration, err error) {
	times := []time.Duration{first.ready}
	for range 4 {
		now().stop()
		if err := again(); err != nil {
			return 0, 0, 0, err
		}
		times = append(times, now().ready)
	}
	slices.Sort(times)
	time.Sleep(idleFor)
	rss, own = now().rss(), now().own()
	now().stop()
	return rss, own, times[len(times)/2], nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
