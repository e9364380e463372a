package daemon

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arborist/daemon/api"
)

// A publisher loses a shard file and gets its documents back from a follower,
// over libp2p; then the follower loses one and gets them back from the publisher.
func TestHealBringsLostDocumentsBackFromAPeer(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	home, follower := newHome(t), newHome(t)
	addPages(t, home, "granite", 12)
	publisher, stop := serve(t, home)
	other, stopOther := serve(t, follower)
	at, err := publisher.PeerID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	origin := at.PeerID + "/" + MainCorpus
	if _, err := other.Sync(ctx, api.SyncRequest{From: at.Addrs[0], Corpus: origin}, nil); err != nil {
		t.Fatal(err)
	}
	before := queryAll(t, publisher)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	loseShard(t, home)
	publisher, stop = serve(t, home)
	wantHealed(t, publisher, other, origin, before)

	// The other way round.
	if err := stopOther(); err != nil {
		t.Fatal(err)
	}
	loseShard(t, follower)
	other, stopOther = serve(t, follower)
	wantHealed(t, other, publisher, origin, before)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := stopOther(); err != nil {
		t.Error(err)
	}
}

func queryAll(t *testing.T, s api.Service) []api.Hit {
	t.Helper()
	res, err := s.Query(context.WithoutCancel(t.Context()), api.QueryRequest{Text: "granite", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range res.Hits {
		res.Hits[i].Proof = "" // an older proof stays valid beside a newer one
	}
	return res.Hits
}

// loseShard removes a shard file and has another made in its place.
func loseShard(t *testing.T, home Home) {
	t.Helper()
	if err := os.Remove(filepath.Join(home.Shards(), "01.db")); err != nil {
		t.Fatal(err)
	}
	if did, err := Salvage(t.Context(), home, false); err != nil || len(did) < 3 {
		t.Fatalf("salvage did %q, %v", did, err)
	}
}

// wantHealed has s ask helper for what it has lost.
func wantHealed(t *testing.T, s, helper api.Service, origin string, before []api.Hit) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	check, err := s.Check(ctx)
	if err != nil || len(check.Problems) == 0 {
		t.Fatalf("nothing is lost: %+v, %v", check, err)
	}
	lost := len(check.Problems)
	alone, err := s.CheckWith(ctx, api.CheckRequest{Heal: true})
	if err != nil || len(alone.Problems) != lost || len(alone.Repaired) != 1 || !strings.Contains(alone.Repaired[0], "no peer is connected") {
		t.Errorf("with nobody to ask: %+v, %v", alone, err)
	}
	at, err := helper.PeerID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Join(ctx, at.Addrs[0]); err != nil {
		t.Fatal(err)
	}
	dry, err := s.CheckWith(ctx, api.CheckRequest{Heal: true, DryRun: true})
	if err != nil || len(dry.Problems) != lost || len(dry.Repaired) != 1 || !strings.Contains(dry.Repaired[0], "would do: heal: ask "+at.PeerID) {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	res, err := s.CheckWith(ctx, api.CheckRequest{Heal: true})
	if err != nil || len(res.Problems) > 0 || len(res.Repaired) != lost {
		t.Fatalf("heal: %+v, %v", res, err)
	}
	for _, line := range res.Repaired {
		if !strings.Contains(line, "of corpus "+origin+" is back from "+at.PeerID+", verified, current") {
			t.Errorf("it says %q", line)
		}
	}
	if after := queryAll(t, s); !slices.EqualFunc(before, after, func(a, b api.Hit) bool {
		return a.Root == b.Root && a.Chunk == b.Chunk && a.Score == b.Score && a.URI == b.URI && a.Text == b.Text
	}) {
		t.Errorf("found before %+v, after %+v", before, after)
	}
	if again, err := s.CheckWith(ctx, api.CheckRequest{Heal: true}); err != nil || len(again.Problems)+len(again.Repaired) > 0 {
		t.Errorf("once more: %+v, %v", again, err)
	}
}

// A published tree heals as well, whatever it was published with and however it is
// read: what is lost comes out of its packs where it has nothing else.
func TestHealBringsLostDocumentsBackFromATree(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	home := newHome(t)
	addPages(t, home, "granite", 12)
	trees := map[string]string{}
	s, stop := serve(t, home)
	for name, documents := range map[string]bool{"packs": false, "documents": true} {
		dir := filepath.Join(t.TempDir(), name)
		if _, err := s.Publish(ctx, api.PublishRequest{Corpus: MainCorpus, To: dir, Documents: documents}, nil); err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(http.FileServer(http.Dir(dir)))
		t.Cleanup(web.Close)
		trees[name], trees[name+" over HTTP"] = "file:"+dir, web.URL
	}
	before := queryAll(t, s)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for name, from := range trees {
		loseShard(t, home)
		s, stop := serve(t, home)
		res, err := s.CheckWith(ctx, api.CheckRequest{Heal: true, From: []string{from}})
		if err != nil || len(res.Problems) > 0 || len(res.Repaired) == 0 {
			t.Fatalf("from %s: %+v, %v", name, res, err)
		}
		if after := queryAll(t, s); len(after) != len(before) {
			t.Errorf("from %s: %d hits, before %d", name, len(after), len(before))
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
}
