package spread

import "testing"

func TestEveryFollowerGetsTheNewHead(t *testing.T) {
	r := Run(Network(1000, 100, 40<<10))
	if r.Reached < r.Followings*999/1000 {
		t.Errorf("%d of %d followers have it", r.Reached, r.Followings)
	}
	if r.PublisherBytes*2 > r.FetchedBytes {
		t.Errorf("publishers sent %d of %d bytes", r.PublisherBytes, r.FetchedBytes)
	}
}

func TestTheSameNetworkGivesTheSameResult(t *testing.T) {
	if a, b := Run(Network(300, 20, 40<<10)), Run(Network(300, 20, 40<<10)); a != b {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// With followers that serve, a larger network takes hardly longer; with the
// publisher alone it takes as much longer as it is larger.
func TestFollowersThatServeCarryTheLoad(t *testing.T) {
	small, large := Network(500, 5, 1<<20), Network(4000, 5, 1<<20)
	ratio := func(alone bool) float64 {
		small.PublisherAlone, large.PublisherAlone = alone, alone
		return float64(Run(large).All) / float64(Run(small).All)
	}
	shared, alone := ratio(false), ratio(true)
	if shared > 3 || alone < 5 {
		t.Errorf("eight times the nodes take %.1f times as long with followers that serve, %.1f without", shared, alone)
	}
}
