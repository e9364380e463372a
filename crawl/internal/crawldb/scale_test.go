package crawldb

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"arborist/crawl/internal/frontier"
)

// residentKB gives the memory that this process holds.
func residentKB(b *testing.B) int {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("no /proc/self/status")
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return kb
}

// BenchmarkAMillionAddresses discovers a million addresses, 200 on each page,
// and fails where memory grows with them.
func BenchmarkAMillionAddresses(b *testing.B) {
	const perPage, all = 200, 1_000_000
	for b.Loop() {
		db := open(b, filepath.Join(b.TempDir(), "web.db"))
		c := begin(b, db, seed)
		start, at := time.Now(), 0
		for found := 0; found < all; {
			entries, err := c.Waiting(b.Context(), "http://h", 0, 0, 50)
			if err != nil {
				b.Fatal(err)
			}
			var outcomes []frontier.Outcome
			for _, e := range entries {
				o := frontier.Outcome{Entry: e, State: frontier.Done}
				for range perPage {
					o.Links = append(o.Links, frontier.Link{URL: fmt.Sprintf("http://h/manual/chapter/section/page-%d.html", found)})
					found++
				}
				outcomes = append(outcomes, o)
			}
			if err := c.Settle(b.Context(), outcomes); err != nil {
				b.Fatal(err)
			}
			if at == 0 && found >= all/5 {
				at = residentKB(b)
			}
		}
		grown := residentKB(b) - at
		b.ReportMetric(float64(at)/1024, "MB-at-200,000")
		b.ReportMetric(float64(grown)/1024, "MB-more-at-1,000,000")
		b.ReportMetric(float64(time.Since(start).Microseconds())/all, "µs/address")
		if grown > 24<<10 {
			b.Errorf("memory grew by %d KB from 200,000 to 1,000,000 addresses", grown)
		}
	}
}
