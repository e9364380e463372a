package peer

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"arborist/document"
)

// BenchmarkEdited syncs 4 MiB of documents of which each 100th paragraph was edited,
// by deltas and whole: milliseconds of processor time of both sides together, bytes
// sent, requests.
func BenchmarkEdited(b *testing.B) {
	for _, size := range []int{16 << 10, 64 << 10, 128 << 10, 256 << 10, 4 << 20, 16 << 20} {
		for _, how := range []string{"whole", "delta"} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, how), func(b *testing.B) { benchEdited(b, size, how == "delta") })
		}
	}
}

func benchEdited(b *testing.B, size int, delta bool) {
	a, c := newNode(b).up(nil), newNode(b).up(nil)
	requests := 0
	relay := newRelay(b, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		requests++
		if !delta && ofKind(kindDelta)(path) {
			http.NotFound(w, r)
			return
		}
		honest.ServeHTTP(w, r)
	})
	texts := make([]string, max(1, 4<<20/size))
	publish := func() {
		entries := make([]document.Entry, len(texts))
		for i, text := range texts {
			entries[i] = entryOf(b, fmt.Sprint(editedURI, i), text)
		}
		a.publish("main", entries...)
	}
	for i := range texts {
		texts[i] = textOf(fmt.Sprint("text ", i), size)
	}
	publish()
	c.sync(relay.addr, a.origin("main"))
	sent := func() int64 {
		id, err := parsePeerID(relay.host.ID().String())
		if err != nil {
			b.Fatal(err)
		}
		return c.peer.traffic.of(id).in.Load()
	}
	var cpu time.Duration
	requests = 0
	before := sent()
	for b.Loop() {
		b.StopTimer()
		for i := range texts {
			texts[i] = edited(texts[i], 100)
		}
		publish()
		b.StartTimer()
		began := processTime(b)
		if res := c.sync(relay.addr, a.origin("main")); res.Documents != len(texts) {
			b.Fatalf("sync = %+v", res)
		}
		cpu += processTime(b) - began
	}
	n := float64(b.N)
	b.ReportMetric(cpu.Seconds()*1e3/n, "cpu-ms/op")
	b.ReportMetric(float64(sent()-before)/1e3/n, "kB-sent/op")
	b.ReportMetric(float64(requests)/n, "requests/op")
}

// processTime returns the processor time of this process.
func processTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
