package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/shard"
)

func rankedHit(peer string, i int, match shard.Match, weight float64) ranked {
	source := sourcePeer
	if peer == "" {
		source = sourceShared
	}
	root := document.Root{byte(i), byte(i >> 8), byte(len(peer)), 1}
	copy(root[4:], peer)
	return ranked{hit: api.Hit{Root: root, Peer: peer, Source: source}, match: match, rank: i, weight: weight}
}

// Threat 14: fifty peers that say much, and all of it loudly, do not drive the
// one whose corpus was chosen here off the first page.
func TestLoudPeersDoNotDriveOutTheChosenOne(t *testing.T) {
	var all []ranked
	for p := range 50 {
		for i := range maxFederated {
			all = append(all, rankedHit(fmt.Sprintf("loud%d", p), i, shard.MatchAll, unknownWeight))
		}
	}
	for i := range 3 {
		all = append(all, rankedHit("honest", i, shard.MatchAll, 1))
	}
	page, fresh := fuse(all, 10)
	if len(page) != 10 || fresh != 50*maxFederated+3 {
		t.Fatalf("%d hits on the page, %d in all", len(page), fresh)
	}
	for i := range 3 {
		if page[i].Peer != "honest" || page[i].Rank != i+1 {
			t.Errorf("place %d is %s's", i+1, page[i].Peer)
		}
	}
}

func TestOnePeerGetsHalfAPageUnlessOthersHaveLess(t *testing.T) {
	count := func(page []api.Hit, peer string) (n int) {
		for _, h := range page {
			if h.Peer == peer {
				n++
			}
		}
		return n
	}
	var all []ranked
	for i := range 10 {
		all = append(all, rankedHit("one", i, shard.MatchAll, 1), rankedHit("two", i, shard.MatchAll, 0.1)) // one has all the best places
	}
	page, _ := fuse(all, 10)
	if one, two := count(page, "one"), count(page, "two"); one != 5 || two != 5 {
		t.Errorf("%d and %d hits", one, two)
	}
	page, _ = fuse(all[:1], 10)
	if len(page) != 1 {
		t.Errorf("%d hits", len(page))
	}
	var alone []ranked
	for i := range 10 {
		alone = append(alone, rankedHit("one", i, shard.MatchAll, 1))
	}
	if page, _ = fuse(alone, 10); len(page) != 10 {
		t.Errorf("alone: %d hits", len(page))
	}
}

func TestAPassageOfSeveralIsShownOnce(t *testing.T) {
	same := rankedHit("x", 3, shard.MatchAll, 1)
	again, local := same, same
	again.hit.Peer, again.rank = "y", 0
	local.hit.Peer, local.hit.Source, local.hit.URI = "", sourceCrawl, "file:here"
	page, fresh := fuse([]ranked{same, again, local}, 10)
	if len(page) != 1 || fresh != 0 || page[0].Source != sourceCrawl || page[0].URI != "file:here" {
		t.Errorf("%+v, %d", page, fresh)
	}
	if page[0].Score != again.score() {
		t.Errorf("its score is %v, at its best place %v", page[0].Score, again.score())
	}
}

func TestSomeWordsAreShownOnlyWhereNobodyHasAll(t *testing.T) {
	some, all := rankedHit("", 0, shard.MatchSome, 1), rankedHit("a", 9, shard.MatchAll, unknownWeight)
	for _, row := range []struct {
		hits []ranked
		want int
		how  shard.Match
	}{
		{[]ranked{some, all, some}, 1, shard.MatchAll}, {[]ranked{all, all}, 2, shard.MatchAll},
		{[]ranked{some, some}, 2, shard.MatchSome}, {nil, 0, shard.MatchNone},
	} {
		got, how := best(slices.Clone(row.hits))
		if len(got) != row.want || how != row.how {
			t.Errorf("of %d hits %d, as %d, want %d, as %d", len(row.hits), len(got), how, row.want, row.how)
		}
		for _, r := range got {
			if r.match != how {
				t.Errorf("a hit of %d among those of %d", r.match, how)
			}
		}
	}
}

func TestNothingFoundIsAnEmptyPage(t *testing.T) {
	if page, fresh := fuse(nil, 10); page == nil || len(page) != 0 || fresh != 0 {
		t.Errorf("%v, %d", page, fresh)
	}
}

func TestWhatToDoAboutAnOldKeyCanBeTyped(t *testing.T) {
	said := otherKey("12D3KooWPeer", []string{"12D3KooWA/main", "12D3KooWB/papers"})
	for _, want := range []string{"arborist peer sync 12D3KooWPeer 12D3KooWA/main; ", "arborist peer sync 12D3KooWPeer 12D3KooWB/papers"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
	if strings.Contains(said, "CORPUS") {
		t.Errorf("%q has a word to fill in", said)
	}
}
