package daemon

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
)

// A version that no program has ever written is damage like other damage: who follows
// what is said gets a healthy home, whichever version of whichever file it is.
func TestWhoFollowsWhatIsSaidMendsADamagedVersion(t *testing.T) {
	d := aHomeToDamage(t)
	const crawlDB = "crawl/web.db"
	type damage struct{ file, statement string }
	var images []damage
	for _, statement := range []string{"UPDATE crawl_format SET version = 0", "UPDATE crawl_format SET version = -3", "UPDATE crawl_format SET version = 1 << 40", "DELETE FROM crawl_format", "DROP TABLE crawl_format"} {
		images = append(images, damage{crawlDB, statement})
	}
	for _, file := range d.files() {
		for _, version := range []int32{0, 1 << 30} {
			images = append(images, damage{file, fmt.Sprintf("PRAGMA user_version = %d", version)})
		}
	}
	for _, image := range images {
		d.restore(t)
		db, err := sql.Open("sqlite3", filepath.Join(string(d.home), image.file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(image.statement); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		d.mustBecomeHealthy(t, image.file+": "+image.statement)
	}
}
