package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/daemon/api"
	"arborist/shard"
)

// A home whose file of corpora cannot be used is opened all the same: what needs
// no log goes on, everything else says what is wrong and what to do, and nothing
// takes the place of what may still be read out of it.
func TestAHomeWithoutItsLogsIsCheckedAndSearched(t *testing.T) {
	home := newHome(t)
	addPages(t, home, "first", 5)
	path := filepath.Join(home.Shards(), shard.CorporaName)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("damage", 500)), 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Glob(home.CorpusKey("*"))
	if err != nil {
		t.Fatal(err)
	}

	n := openNode(t, home)
	ctx := t.Context()
	checked, err := n.Check(ctx)
	if err != nil || checked.Documents != 5 || len(checked.Problems) != 1 || !strings.HasPrefix(checked.Problems[0], path) || !strings.HasSuffix(checked.Problems[0], shard.MendBroken) {
		t.Errorf("check: %+v, %v", checked, err)
	}
	status, err := n.Status(ctx)
	if err != nil || status.Healthy || status.Shared.Documents != 5 || len(status.Problems) != 1 || !strings.HasPrefix(status.Problems[0], path) {
		t.Errorf("status: %+v, %v", status, err)
	}
	if _, err := n.Add(ctx, api.AddRequest{Paths: []string{writePage(t, "private granite")}, Private: true}, nil); err != nil {
		t.Errorf("add to the crawl db: %v", err)
	}
	found, err := n.Query(ctx, api.QueryRequest{Text: "granite"})
	if err != nil || len(found.Hits) != 1 || found.Hits[0].Source != sourceCrawl || len(found.Refused) != 1 || found.Refused[0].URI != path {
		t.Errorf("query: %d hits, refused %+v, %v", len(found.Hits), found.Refused, err)
	}
	for name, call := range map[string]func(context.Context) error{
		"add":    func(ctx context.Context) error { return addShared(ctx, n, writePage(t, "more granite")) },
		"create": func(ctx context.Context) error { _, err := n.CreateCorpus(ctx, "papers"); return err },
		"list":   func(ctx context.Context) error { _, err := n.ListCorpora(ctx); return err },
	} {
		if err := call(ctx); err == nil || api.AsError(err).Code != api.CodeInvalid || api.AsError(err).Hint != shard.MendBroken {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Error("the file was changed")
	}
	if now, err := filepath.Glob(home.CorpusKey("*")); err != nil || len(now) != len(keys) {
		t.Errorf("keys %q, were %q", now, keys)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Salvage(ctx, home, false); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, home)
	if checked, err := n.Check(ctx); err != nil || len(checked.Problems) > 0 {
		t.Errorf("after the repair: %+v, %v", checked, err)
	}
	if err := addShared(ctx, n, writePage(t, "more granite")); err != nil {
		t.Error(err)
	}
}

func writePage(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func addShared(ctx context.Context, n *Node, path string) error {
	_, err := n.Add(ctx, api.AddRequest{Paths: []string{path}}, nil)
	return err
}
