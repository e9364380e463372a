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
const (
	softRow    = 50    // pages in a row that look alike
	maxFolders = 10000 // directories that are watched at a time
)

// A folder is a directory pattern, or a path whose query varies.
type folder struct {
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

// sameFolder refuses an address whose directory has shown one and the same page
// too often.
func (t *traps) sameFolder(u weburl.URL) string {
	f := t.folders[folderOf(u)]
	if f == nil || f.row < softRow {
		return ""
	}
	f.refused++
	return fmt.Sprintf("soft 404: the last %d pages of %.200s look alike", f.row, folderOf(u))
}

// brought notes what a page looked like; 0 stands for one that is no HTML.
func (t *traps) brought(u weburl.URL, looks uint64) {
	if looks == 0 {
		return
	}
	name := folderOf(u)
	f := t.folders[name]
	switch {
	case f == nil:
		if len(t.folders) >= maxFolders {
			t.forgetFolders()
		}
		t.folders[name] = &folder{last: looks, row: 1}
	case f.last == looks:
		f.row++
	case f.row < softRow:
		f.last, f.row = looks, 1
	}
}

// forgetFolders makes room, and keeps those that have something to report.
func (t *traps) forgetFolders() {
	for name, f := range t.folders {
		if f.row < softRow {
			delete(t.folders, name)
		}
	}
}
