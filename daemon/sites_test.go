package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/daemon/api"
)

// Sites that can ask one host are crawled in turn, whatever connects them.
func TestSitesThatShareAHostAreOneGroup(t *testing.T) {
	site := func(seed string, more ...string) api.Site { return api.Site{SeedURL: seed, AllowHost: more} }
	for name, c := range map[string]struct {
		sites []api.Site
		want  string
	}{
		"apart":            {[]api.Site{site("https://a.example/"), site("https://b.example/")}, "[[0] [1]]"},
		"same host":        {[]api.Site{site("https://a.example/x"), site("https://b.example/"), site("http://A.example:8080/y")}, "[[1] [0 2]]"},
		"an allowed host":  {[]api.Site{site("https://a.example/"), site("https://b.example/", "a.example:443")}, "[[0 1]]"},
		"a chain of hosts": {[]api.Site{site("https://a.example/"), site("https://c.example/"), site("https://b.example/", "a.example", "c.example")}, "[[0 1 2]]"},
	} {
		got, err := groupSites(c.sites)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, c.want)
		}
	}
	if _, err := groupSites([]api.Site{site("https://a.example/"), site("http://%zz/")}); err == nil {
		t.Error("an address that is none was taken")
	}
}

func TestListsOfSitesAreReadStrictly(t *testing.T) {
	write := func(text string) string {
		p := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	seeds, err := ReadSeeds(write("\uFEFF# all\r\nhttps://a.example/\r\n\n  https://b.example/x  \n"))
	if err != nil || len(seeds) != 2 || seeds[1].SeedURL != "https://b.example/x" {
		t.Errorf("%+v, %v", seeds, err)
	}
	for name, text := range map[string]string{
		"nothing": "", "comments": "# x\n", "prose": "see there\n", "no scheme": "a.example\n", "two on a line": "https://a.example/ https://b.example/\n",
		"too large": strings.Repeat("#\n", maxSiteList), "not text": "\xff\xfe", "too many": strings.Repeat("https://a.example/\n", maxSites+1),
	} {
		if _, err := ReadSeeds(write(text)); api.AsError(err).Code != api.CodeUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	books, err := ReadTextbooks(write(`{"textbooks":[{"id":"a","crawl_url":"https://a.example/"},{"id":"b","title":"B","author":"X","crawl_url":"https://b.example/","depth":0,"max_pages":9,"allow_hosts":["c.example"]}]}`), 2)
	if err != nil || len(books) != 2 || books[0].Depth != 2 || books[1].Depth != 0 || books[1].MaxPages != 9 || books[1].AllowHost[0] != "c.example" {
		t.Errorf("%+v, %v", books, err)
	}
	for name, text := range map[string]string{
		"no JSON": "x", "empty": `{"textbooks":[]}`, "unknown key": `{"textbooks":[{"id":"a","crawl_url":"https://a.example/","colour":"red"}]}`,
		"no id": `{"textbooks":[{"crawl_url":"https://a.example/"}]}`, "no address": `{"textbooks":[{"id":"a"}]}`, "a list": `[{"id":"a"}]`, "a number": `{"textbooks":[{"id":7,"crawl_url":"https://a.example/"}]}`,
		"twice":    `{"textbooks":[{"id":"a","crawl_url":"https://a.example/"},{"id":"a","crawl_url":"https://b.example/"}]}`,
		"negative": `{"textbooks":[{"id":"a","crawl_url":"https://a.example/","depth":-1}]}`, "more": `{"textbooks":[{"id":"a","crawl_url":"https://a.example/"}]} {}`,
	} {
		if _, err := ReadTextbooks(write(text), 2); api.AsError(err).Code != api.CodeUsage || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadSeeds(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}
