package ingest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"arborist/ingest/extract"
)

func TestADocumentThatTakesLongIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		uris := make(chan string, 3)
		cfg := Config{Workers: 1, Batch: 1, Extract: func(_ context.Context, _, uri string, body []byte) (extract.Text, error) {
			uris <- uri
			if len(uris) == 2 {
				time.Sleep(2500 * time.Millisecond)
			}
			return extract.Text{Markdown: body, Extractor: "test/1"}, nil
		}}
		var got []string
		_, err := Run(t.Context(), numbered(3), discard{}, cfg, func(p Progress) {
			got = append(got, fmt.Sprint(p.Documents, p.Reading, p.URI))
		})
		if err != nil {
			t.Fatal(err)
		}
		first, second, third := <-uris, <-uris, <-uris
		want := []string{fmt.Sprint(1, false, first), fmt.Sprint(1, true, second), fmt.Sprint(1, true, second), fmt.Sprint(2, false, second), fmt.Sprint(3, false, third)}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}
