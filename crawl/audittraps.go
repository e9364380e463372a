package crawl

import (
	"cmp"
	"slices"
	"strings"

	"arborist/crawl/audit"
	"arborist/crawl/internal/weburl"
)

// trapsOf gives the patterns whose budget left addresses of a kept crawl out, the
// worst first. The reason that is kept with such an address names its pattern.
func (c *Crawler) trapsOf(addresses []audit.Address) []audit.Trap {
	found := map[string]*audit.Trap{}
	for _, a := range addresses {
		if a.Result != audit.NotFetched || !isTrap(a.Reason) {
			continue
		}
		u, err := c.parser.Parse(a.URL)
		if err != nil {
			continue
		}
		name := pattern(u)
		for _, p := range patternsOf(u) {
			if strings.Contains(a.Reason, " "+p+" ") {
				name = p
			}
		}
		t := found[name]
		if t == nil {
			t = &audit.Trap{Pattern: name, Reason: a.Reason}
			found[name] = t
		}
		t.Refused++
	}
	for _, a := range addresses {
		if u, err := c.parser.Parse(a.URL); a.Result == audit.Page && err == nil && len(found) > 0 {
			for _, p := range patternsOf(u) {
				if t := found[p]; t != nil {
					t.Pages++
				}
			}
		}
	}
	traps := make([]audit.Trap, 0, len(found))
	for _, t := range found {
		traps = append(traps, *t)
	}
	slices.SortFunc(traps, func(x, y audit.Trap) int {
		return cmp.Or(cmp.Compare(y.Refused, x.Refused), cmp.Compare(x.Pattern, y.Pattern))
	})
	return traps
}

// isTrap recognises the reasons that [traps.charge] gives.
func isTrap(reason string) bool {
	return strings.HasPrefix(reason, "trap") || strings.HasPrefix(reason, "soft 404")
}

// patternsOf gives everything that an address is counted under.
func patternsOf(u weburl.URL) []string {
	return []string{pattern(u), topFolder(u) + "*", folderOf(u) + "*", wideFolderOf(u) + "**"}
}
