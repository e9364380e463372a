package warc_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nlnwa/gowarc/v3"

	"arborist/crawl/warc"
)

// A process that is killed anywhere leaves files that another reader reads:
// every record that was acknowledged, and at most one cut at the end.
func TestKilledCrawlLeavesAReadableArchive(t *testing.T) {
	if dir := os.Getenv("WARC_TEST_KILL"); dir != "" {
		w, err := warc.Create(warc.Config{Dir: dir, MaxSize: 16 << 10})
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; ; i++ {
			if err := w.Record(exchange(fmt.Sprint("/", i), strings.Repeat(fmt.Sprint("page ", i, " "), 300))); err != nil {
				t.Fatal(err)
			}
			fmt.Println(i)
		}
	}
	for round := range 4 {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledCrawlLeavesAReadableArchive$")
		cmd.Env = append(os.Environ(), "WARC_TEST_KILL="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := 0
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if acknowledged++; acknowledged == 50+37*round {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		files, _ := filepath.Glob(dir + "/*.warc.gz")
		responses := 0
		for i, file := range files {
			r, err := gowarc.NewWarcFileReader(file, 0, gowarc.WithStrictValidation(), gowarc.WithBufferTmpDir(t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			for {
				rec, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					if i < len(files)-1 {
						t.Errorf("%s, which was finished: %v", file, err)
					}
					break
				}
				if rec.WarcRecord.Type() == gowarc.Response {
					responses++
				}
				rec.Close()
			}
			r.Close()
		}
		if responses < acknowledged || len(files) < 2 {
			t.Errorf("round %d: %d responses in %d files, %d were acknowledged", round, responses, len(files), acknowledged)
		}
	}
}
