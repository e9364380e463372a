package daemon

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed is the layer table of docs/architecture.md: what each package of
// this module may import of the others. "x/..." stands for x and all below it.
func allowed() map[string][]string {
	return map[string][]string{
		"merkle":                               {},
		"document":                             {"merkle"},
		"document/car":                         {"document"},
		"document/filter":                      {"document"},
		"proof":                                {"document", "merkle"},
		"proof/report":                         {"proof", "document"},
		"shard/corpus":                         {"shard/internal/harden", "shard/internal/pages", "proof", "document", "document/filter", "merkle"},
		"shard/internal/harden":                {},
		"shard/internal/index":                 {},
		"shard/internal/pages":                 {},
		"shard/internal/words":                 {},
		"shard":                                {"shard/...", "proof", "document", "merkle"},
		"ingest/extract":                       {"ingest/extract/internal/markdown", "ingest/extract/internal/office", "ingest/extract/internal/tree", "ingest/extract/pdf", "document"},
		"ingest/extract/internal/markdown":     {},
		"ingest/extract/internal/tree":         {"ingest/extract/markup"},
		"ingest/extract/markup":                {},
		"ingest/extract/internal/office":       {"ingest/extract/internal/office/cfb"},
		"ingest/extract/internal/office/cfb":   {},
		"ingest/extract/pdf":                   {"document"},
		"ingest/extract/pdf/worker":            {"ingest/extract/pdf"},
		"ingest":                               {"ingest/extract", "document"},
		"ingest/source":                        {"ingest", "ingest/extract", "document", "document/car"},
		"crawl/egress":                         {},
		"crawl/robots":                         {"crawl/fetch", "crawl/internal/weburl"},
		"crawl/fetch":                          {"crawl/egress", "crawl/internal/weburl"},
		"crawl/fetch/chromium":                 {"crawl/fetch", "crawl/egress"},
		"crawl/warc":                           {"crawl/fetch"},
		"crawl/fetch/fetchtest":                {"crawl/fetch", "crawl/egress"},
		"crawl/internal/weburl":                {},
		"crawl/internal/sitemap":               {},
		"crawl/audit":                          {"document"},
		"crawl/internal/links":                 {"crawl/internal/weburl", "ingest/extract/markup"},
		"crawl/internal/crawldb":               {"crawl/internal/frontier", "crawl/fetch", "ingest", "shard", "document"},
		"crawl/internal/frontier":              {"crawl/fetch", "ingest"},
		"crawl/internal/frontier/frontiertest": {"crawl/internal/frontier", "crawl/fetch"},
		"crawl":                                {"crawl/...", "ingest", "ingest/extract", "shard", "document"},
		"peer":                                 {"peer/...", "shard", "shard/corpus", "proof", "document", "document/filter", "merkle"},
		"daemon/api":                           {"document"},
		"peer/target":                          {"peer"},
		"daemon":                               {"peer/target", "daemon/api", "crawl", "crawl/audit", "crawl/fetch", "crawl/fetch/chromium", "crawl/egress", "crawl/warc", "peer", "ingest", "ingest/extract", "ingest/extract/pdf", "ingest/source", "shard", "shard/corpus", "proof", "document", "document/car"},
		"cmd/arborist":                         {"daemon", "daemon/api", "ingest/extract/pdf", "ingest/extract/pdf/worker", "proof", "proof/report", "document"},
		"cmd/arborist-verify":                  {"proof", "proof/report", "document"},
		"cmd/demo":                             {"daemon/api", "document", "internal/arbtest/stranger"},
	}
}

// impure are imports that the pure packages and the offline checker must not
// reach, not even through others.
func impure() []string { return []string{"net", "database/sql", "runtime/cgo", "os/exec"} }

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-tags", "sqlite_fts5"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestImportsPointOneWay(t *testing.T) {
	table := allowed()
	seen := map[string]bool{}
	for _, line := range goList(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "arborist/...") {
		fields := strings.Fields(line)
		pkg := strings.TrimPrefix(fields[0], "arborist/")
		if strings.HasPrefix(pkg, "internal/") {
			continue // for tests alone
		}
		seen[pkg] = true
		rules, ok := table[pkg]
		if !ok {
			t.Errorf("package %s has no row in the layer table", pkg)
			continue
		}
		for _, imp := range fields[1:] {
			imp, ours := strings.CutPrefix(imp, "arborist/")
			if ours && !permits(rules, imp) {
				t.Errorf("%s imports %s", pkg, imp)
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(table)) {
		if !seen[pkg] {
			t.Errorf("the layer table has a row for %s, which is not there", pkg)
		}
	}
}

func permits(rules []string, imp string) bool {
	for _, r := range rules {
		if below, ok := strings.CutSuffix(r, "/..."); ok && strings.HasPrefix(imp, below+"/") || r == imp {
			return true
		}
	}
	return false
}

func TestPurePackagesReachNoNetworkDatabaseOrC(t *testing.T) {
	for _, pkg := range []string{"merkle", "document", "proof", "cmd/arborist-verify"} {
		deps := goList(t, "-deps", "arborist/"+pkg)
		for _, bad := range impure() {
			if slices.Contains(deps, bad) {
				t.Errorf("%s reaches %s", pkg, bad)
			}
		}
	}
}

func TestPeerReachesNoPrivateRoom(t *testing.T) {
	for _, dep := range goList(t, "-deps", "arborist/peer") {
		for _, room := range []string{"crawl", "ingest", "rag", "daemon"} {
			if dep == "arborist/"+room || strings.HasPrefix(dep, "arborist/"+room+"/") {
				t.Errorf("peer reaches %s", dep)
			}
		}
	}
	for _, dep := range goList(t, "-deps", "arborist/crawl") {
		if dep == "arborist/peer" {
			t.Error("crawl reaches peer")
		}
	}
}
