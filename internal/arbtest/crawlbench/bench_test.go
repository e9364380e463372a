package crawlbench

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const java = "/usr/share/doc/openjdk-17-doc"

// BenchmarkDiscovery finds the pages of a site and stores none, beside wget2
// with 8 threads. wget2 cannot follow links without fetching either; once it
// keeps the pages as files, which is what it is for, and once it deletes each.
// The floor is what it takes to get the pages that are known then, one after the
// other over one connection, and to look at none of them.
// The benchmark fails where wget2 finds a page that the crawl does not, or
// where the crawl asks for an address twice.
func BenchmarkDiscovery(b *testing.B) {
	site := serve(b, java)
	wget2 := []string{"-q", "-r", "-l", "inf", "--max-threads=8", "--robots=off", "--no-parent",
		"--reject", "*.css,*.js,*.png,*.gif,*.svg,*.ico,*.woff2,*.jpg,*.zip,*.gz,*.pdf", site.base + "api/index.html"}
	var ours, keeping, deleting, bare cost
	var pages []string
	for b.Loop() {
		ours.add(crawl(b, site.base+"api/index.html"))
		pages = site.once(b)
		keeping.add(run(b, exec.Command(tool(b, "wget2"), wget2...)))
		for _, p := range site.pages(b) {
			if _, found := slices.BinarySearch(pages, p); !found {
				b.Errorf("wget2 alone found %s", p)
			}
		}
		deleting.add(run(b, exec.Command(tool(b, "wget2"), append([]string{"--delete-after"}, wget2...)...)))
		b.ReportMetric(float64(len(pages)-len(slices.Compact(site.pages(b)))), "pages-more")
		bare.add(get(b, site.base, pages))
		site.requests(b)
	}
	ours.report(b, len(pages))
	b.ReportMetric(ours.against(keeping), "cpu/wget2")
	b.ReportMetric(ours.against(deleting), "cpu/wget2-deleting")
	b.ReportMetric(ours.against(bare), "cpu/bare-get")
	b.ReportMetric(keeping.against(bare), "wget2/bare-get")
}

// BenchmarkIngest crawls into the private crawl db (extraction, Merkle trees,
// index, durable), beside Colly, which follows links and keeps nothing.
func BenchmarkIngest(b *testing.B) {
	site := serve(b, java)
	colly := filepath.Join(b.TempDir(), "colly")
	if out, err := exec.Command("go", "build", "-C", "colly", "-o", colly, ".").CombinedOutput(); err != nil {
		b.Skipf("Colly cannot be built: %v\n%s", err, out)
	}
	var ours, theirs cost
	var pages []string
	for b.Loop() {
		ours.add(crawl(b, site.base+"api/index.html", "--ingest"))
		pages = site.once(b)
		theirs.add(run(b, exec.Command(colly, site.base+"api/index.html")))
		site.pages(b)
	}
	ours.report(b, len(pages))
	b.ReportMetric(ours.against(theirs), "cpu/colly")
}

// BenchmarkIngestManyPages crawls four manuals as one site of over 30,000 pages.
func BenchmarkIngestManyPages(b *testing.B) {
	folder := b.TempDir()
	var index strings.Builder
	for name, page := range map[string]string{java: "api/index.html", "/usr/share/doc/rust-doc/html": "index.html",
		"/usr/share/doc/python3.11/html": "index.html", "/usr/share/doc/sqlite3": "index.html"} {
		if _, err := os.Stat(filepath.Join(name, page)); err != nil {
			b.Skipf("%s is not installed", name)
		}
		link := strings.ReplaceAll(strings.TrimPrefix(name, "/usr/share/doc/"), "/", "-")
		if err := os.Symlink(name, filepath.Join(folder, link)); err != nil {
			b.Fatal(err)
		}
		index.WriteString("<a href='" + link + "/" + page + "'>" + link + "</a>\n")
	}
	if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte(index.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	site := serve(b, folder)
	var ours cost
	var pages []string
	for b.Loop() {
		ours.add(crawl(b, site.base, "--ingest"))
		pages = site.once(b)
	}
	if len(pages) < 30_000 {
		b.Errorf("%d pages", len(pages))
	}
	ours.report(b, len(pages))
}

// fromDisk has the system forget what it keeps of a file, so that it is read as after
// a start of the machine: what a linker has just written is mapped in pieces of 2 MiB,
// which are 10 MiB more of our program.
func fromDisk(b *testing.B, path string) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		b.Fatal(err)
	}
}

// crawl runs arborist crawl in a home of its own.
func crawl(b *testing.B, seed string, flags ...string) cost {
	b.Helper()
	program := os.Getenv("ARBORIST_BIN")
	if program == "" {
		b.Skip("ARBORIST_BIN does not name the program: run make bench-crawl")
	}
	fromDisk(b, program)
	home := b.TempDir()
	arborist := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "ARBORIST_HOME="+home)
		return cmd
	}
	run(b, arborist("init"))
	return run(b, arborist(append([]string{"crawl", "--fast", "--depth", "999", "--allow-net", "127.0.0.0/8", "--seed-url", seed}, flags...)...))
}
