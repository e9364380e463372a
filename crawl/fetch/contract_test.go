package fetch_test

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"arborist/crawl/fetch"
	"arborist/crawl/fetch/fetchtest"
)

func TestMain(m *testing.M) {
	// What net/http says of hostile servers, on the standard log.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

func TestHTTPKeepsTheFetcherContract(t *testing.T) {
	fetchtest.Run(t, func(t testing.TB, cfg fetchtest.Config) fetch.Fetcher {
		return newHTTP(t, fetch.HTTPConfig{Guard: cfg.Guard, MaxBody: cfg.MaxBody, Timeout: cfg.Timeout})
	})
}

func newHTTP(t testing.TB, cfg fetch.HTTPConfig) *fetch.HTTP {
	t.Helper()
	h := fetch.NewHTTP(cfg)
	t.Cleanup(func() { h.Close() })
	return h
}
