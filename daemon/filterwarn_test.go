package daemon

import (
	"strings"
	"testing"

	"arborist/daemon/api"
)

// A query that finds nothing because of where it looks says so.
func TestAQueryThatLooksWhereNothingIsSaysSo(t *testing.T) {
	home := newHome(t)
	addPages(t, home, "first", 3)
	n := openNode(t, home)
	for text, want := range map[string]string{
		"granite":                              "",
		"granite corpus:main":                  "",
		"granite corpus:" + n.id + "/main":     "",
		"absent corpus:main":                   "",
		"granite corpus:nope":                  `no corpus "nope" on this node: see which there are: arborist corpus list`,
		"granite corpus:main corpus:nope":      `no corpus "nope" on this node`,
		"granite site:example.org":             "no document that is searched is where the query looks",
		"granite before:1999":                  "no document that is searched is where the query looks",
		"granite after:1999":                   "",
		"granite corpus:nope site:example.org": `no corpus "nope"`,
	} {
		res, err := n.Query(t.Context(), api.QueryRequest{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(res.Warnings, "\n"); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: warnings %q, want %q", text, got, want)
		}
	}
}
