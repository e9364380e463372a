package crawl

import (
	"fmt"
	"strings"

	"arborist/crawl/internal/weburl"
)

// A soft 404 is a page that says "not found" with status 200. A directory that
// answers so to every address is endless as soon as its pages are linked from
// somewhere. It shows in the content: the same page, but for its own address,
// over and over.
//
// What differs less than a reader would see is weaker evidence, and needs more
// of it. It is looked for in a whole folder at the top of the site, since links
// that are made up may lead ever deeper.
const (
	softRow    = 50    // pages in a row that look alike
	looseRow   = 500   // pages in a row with one skeleton, or half a pattern's budget where that is more
	maxFolders = 10000 // directories that are watched at a time
)

// A folder is a directory pattern, or a path whose query varies.
type folder struct {
	enough  int    // pages in a row after which the rest is left out
	last    uint64 // what the latest page looked like
	row     int    // pages in a row that looked like it
	refused int
}

// folderOf gives the pattern of the directory that an address is in. What
// differs in the query alone is a directory of its own.
func folderOf(u weburl.URL) string {
	name := pattern(u)
	if path, _, found := strings.Cut(name, "?"); found {
		return path + "?"
	}
	return name[:strings.LastIndexByte(name, '/')+1]
}

// wideFolderOf is folderOf where links may lead ever deeper.
func wideFolderOf(u weburl.URL) string {
	if u.Query() != "" {
		return folderOf(u)
	}
	return topFolder(u)
}

// sameFolder refuses an address whose directory has shown one and the same page
// too often.
func (t *traps) sameFolder(u weburl.URL) string {
	for _, name := range []string{folderOf(u) + "*", wideFolderOf(u) + "**"} {
		if f := t.folders[name]; f != nil && f.row >= f.enough {
			f.refused++
			return fmt.Sprintf("soft 404: the last %d pages of %.200s look alike", f.row, name)
		}
	}
	return ""
}

// brought notes what a page looked like, if it is HTML.
func (t *traps) brought(u weburl.URL, l looks) {
	if l == (looks{}) {
		return
	}
	t.broughtTo(folderOf(u)+"*", softRow, l.page)
	t.broughtTo(wideFolderOf(u)+"**", max(looseRow, t.budget/2), l.skeleton)
}

func (t *traps) broughtTo(name string, enough int, looks uint64) {
	f := t.folders[name]
	switch {
	case f == nil:
		if len(t.folders) >= maxFolders {
			t.forgetFolders()
		}
		t.folders[name] = &folder{enough: enough, last: looks, row: 1}
	case f.last == looks:
		f.row++
	case f.row < f.enough:
		f.last, f.row = looks, 1
	}
}

// forgetFolders makes room, and keeps those that have something to report.
func (t *traps) forgetFolders() {
	for name, f := range t.folders {
		if f.row < f.enough {
			delete(t.folders, name)
		}
	}
}
