// Package crawlbench measures what a crawl takes, beside other crawlers, on real
// documentation that nginx serves on loopback: make bench-crawl. It runs the
// built program as a user does. What a benchmark needs and does not find, it
// names and is skipped.
package crawlbench
