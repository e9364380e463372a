package daemon

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"arborist/daemon/api"
	"arborist/internal/arbtest/spread"
)

// Threat 14, with hosts: fifty peers that were joined answer with whole pages of
// passages that have the words, and often. The one whose corpus is followed here
// has a single one, which is newer than the last sync. It comes first.
func TestFiftyLoudPeersDoNotDriveOutAFollowedCorpus(t *testing.T) {
	const loud, page = 50, 10
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		nodes := startNodes(t, spread.Network(2+loud, 1, 0), func(int, simNode) string { return "answer_queries = true\n" })
		asker, honest := nodes[0], nodes[1]
		dir := t.TempDir()
		text := func(name, text string) string {
			path := filepath.Join(dir, name+".md")
			writeFile(t, path, text)
			return path
		}
		if _, err := honest.Add(ctx, api.AddRequest{Paths: []string{text("first", "What is followed.")}}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := asker.Sync(ctx, api.SyncRequest{From: honest.addr, Corpus: MainCorpus}, nil); err != nil {
			t.Fatal(err)
		}
		add(t, honest.Node, api.AddRequest{Paths: []string{text("news", "The granite of this quarry is grey, and no other page says it.")}})
		for i, n := range nodes[2:] {
			var paths []string
			for j := range page {
				paths = append(paths, text(fmt.Sprintf("loud-%d-%d", i, j), strings.Repeat("granite quarry grey ", 10)+fmt.Sprint(i, " ", j)))
			}
			add(t, n.Node, api.AddRequest{Paths: paths})
			if _, err := asker.Join(ctx, n.addr); err != nil {
				t.Fatal(err)
			}
		}
		res, err := asker.Query(ctx, api.QueryRequest{Text: "granite quarry", Limit: page, Peers: true})
		if err != nil || len(res.Hits) != page || len(res.Asked) != 1+loud {
			t.Fatalf("%d hits of %d peers, %v", len(res.Hits), len(res.Asked), err)
		}
		for _, a := range res.Asked {
			if want := page; a.Error != "" || a.Hits != want && a.Peer != honest.id {
				t.Errorf("%d hits of %s: %s", a.Hits, a.Peer, a.Error)
			}
		}
		if first := res.Hits[0]; first.Peer != honest.id || !strings.Contains(first.Text, "no other page") {
			t.Errorf("the first place is %s's: %q", first.Peer, first.Text)
		}
	})
}
