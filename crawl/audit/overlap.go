package audit

import (
	"cmp"
	"slices"
)

// overlaps reports pairs of pages, with different texts, of which one shares at
// least half of its passages with the other. Work grows with the number of
// shared passages and not with that of pairs: a passage on over [commonPages]
// pages says nothing.
func (a *auditor) overlaps(documents []Document) {
	// One page stands for all with its text.
	seen := map[string]bool{}
	var pages []Document
	for _, d := range slices.SortedFunc(slices.Values(documents), func(x, y Document) int { return cmp.Compare(x.URL, y.URL) }) {
		if key := string(d.Root[:]); !seen[key] {
			seen[key] = true
			pages = append(pages, d)
		}
	}
	holders := map[string][]int{}
	for i, p := range pages {
		for _, leaf := range distinct(p.Leaves) {
			holders[leaf] = append(holders[leaf], i)
		}
	}
	shared := map[[2]int]int{}
	for _, who := range holders {
		if len(who) > commonPages {
			continue
		}
		for i, x := range who {
			for _, y := range who[i+1:] {
				shared[[2]int{x, y}]++
			}
		}
	}
	var all []Overlap
	for pair, n := range shared {
		x, y := pages[pair[0]], pages[pair[1]]
		share := float64(n) / float64(min(len(distinct(x.Leaves)), len(distinct(y.Leaves))))
		if share >= OverlapShare {
			all = append(all, Overlap{A: x.URL, B: y.URL, Shared: n, Share: share})
		}
	}
	slices.SortFunc(all, func(x, y Overlap) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), cmp.Compare(y.Shared, x.Shared), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	a.report.Totals.Overlaps = len(all)
	a.report.Overlaps = all[:min(len(all), MaxListed)]
}

func distinct(leaves []string) []string {
	sorted := slices.Sorted(slices.Values(leaves))
	return slices.Compact(sorted)
}
