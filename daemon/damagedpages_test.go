package daemon

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"arborist/daemon/api"
)

const diskPage = 4096

// A damagedHome is a home whose pages are damaged, and where all that is in it but
// what was added last was published before, by itself or by others.
type damagedHome struct {
	home    Home
	whole   string            // a copy of it
	trees   map[string]string // by origin: where a corpus is published
	sources []api.AddRequest  // that it was made of
	follows string            // origin of another publisher
	added   []api.AddRequest  // in this image
	steps   []string          // taken in this image
}

// aHomeToDamage makes a home with an own corpus that has superseded and withdrawn
// documents, another one, a followed one, and private documents.
func aHomeToDamage(t *testing.T) *damagedHome {
	t.Helper()
	d := &damagedHome{home: newHome(t), trees: make(map[string]string)}
	publish := func(n *Node, corpus string) string {
		info, err := n.lookupCorpus(t.Context(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), corpus)
		if _, err := n.Publish(t.Context(), api.PublishRequest{Corpus: corpus, To: to, Documents: true}, nil); err != nil {
			t.Fatal(err)
		}
		d.trees[info.Origin] = to
		return info.Origin
	}
	other := openNode(t, newHome(t))
	add(t, other, api.AddRequest{Paths: []string{pages(t, "elsewhere", 30)}})
	d.follows = publish(other, MainCorpus)

	n := openNode(t, d.home)
	mine := pages(t, "mine", 60)
	from := func(req api.AddRequest) {
		add(t, n, req)
		d.sources = append(d.sources, req)
	}
	add(t, n, api.AddRequest{Paths: []string{mine}})
	for i := range 10 {
		writeFile(t, filepath.Join(mine, fmt.Sprintf("p%d.md", i)), fmt.Sprintf("# New %d\n\nGranite, and more of it.", i))
	}
	from(api.AddRequest{Paths: []string{mine}})
	hit, err := n.Query(t.Context(), api.QueryRequest{Text: "granite mine", Limit: 1})
	if err != nil || len(hit.Hits) == 0 {
		t.Fatalf("%+v, %v", hit, err)
	}
	if _, err := n.Withdraw(t.Context(), api.WithdrawRequest{Corpus: MainCorpus, What: []string{hit.Hits[0].Root.String()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.CreateCorpus(t.Context(), "papers"); err != nil {
		t.Fatal(err)
	}
	from(api.AddRequest{Paths: []string{pages(t, "papers", 20)}, Corpus: "papers"})
	from(api.AddRequest{Paths: []string{pages(t, "private", 20)}, Private: true})
	if _, err := n.Sync(t.Context(), api.SyncRequest{From: "file:" + d.trees[d.follows], Corpus: d.follows}, nil); err != nil {
		t.Fatal(err)
	}
	publish(n, MainCorpus)
	publish(n, "papers")
	from(api.AddRequest{Paths: []string{pages(t, "late", 3)}})
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	d.whole = filepath.Join(t.TempDir(), "whole")
	if err := os.CopyFS(d.whole, os.DirFS(string(d.home))); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *damagedHome) files() []string {
	return []string{"shards/00.db", "shards/01.db", "shards/corpora.db", "crawl/web.db"}
}

// restore makes the home whole again.
func (d *damagedHome) restore(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"shards", "crawl", "private", "keys"} {
		to := filepath.Join(string(d.home), dir)
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		from := filepath.Join(d.whole, dir)
		if _, err := os.Stat(from); err != nil {
			continue
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		err := filepath.Walk(to, func(path string, info os.FileInfo, err error) error {
			if err == nil && info.Mode().IsRegular() {
				err = os.Chmod(path, 0o600)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	d.steps, d.added = nil, nil
}

// A said is a failure as its user sees it.
type said struct{ verb, text string }

// clear reports whether a failure says which file it is about and what to do.
func (s said) clear(home Home) bool {
	aFile := strings.Contains(s.text, string(home)+"/") || strings.Contains(s.text, "corpus ")
	return aFile && strings.Contains(s.text, "arborist ")
}

func failure(verb string, err error) []said {
	if err == nil {
		return nil
	}
	e := api.AsError(explain(err))
	return []said{{verb, e.Message + "; next: " + e.Hint}}
}

// all runs the daily verbs, and returns what they say of damage.
func (d *damagedHome) all(t *testing.T, n *Node, round int) (found []said) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status, err := n.Status(ctx)
	found = append(found, failure("status", err)...)
	for _, p := range status.Problems {
		found = append(found, said{"status", p})
	}
	checked, err := n.Check(ctx)
	found = append(found, failure("check", err)...)
	for _, p := range checked.Problems {
		found = append(found, said{"check", p + "; next: " + checked.Next})
	}
	answer, err := n.Query(ctx, api.QueryRequest{Text: "granite more", Limit: 50})
	found = append(found, failure("query", err)...)
	for _, r := range answer.Refused {
		found = append(found, said{"query", r.URI + ": " + r.Error + "; next: " + r.Next})
	}
	page := filepath.Join(t.TempDir(), "new.md")
	writeFile(t, page, fmt.Sprintf("# Another %d\n\nBasalt.", round))
	req := api.AddRequest{Paths: []string{page}}
	d.added = append(d.added, req)
	added, err := n.Add(ctx, req, nil)
	found = append(found, failure("add", err)...)
	for _, f := range added.Failed {
		found = append(found, said{"add", f.URI + ": " + f.Error})
	}
	_, err = n.Publish(ctx, api.PublishRequest{Corpus: MainCorpus, To: filepath.Join(t.TempDir(), "tree"), Documents: true}, nil)
	found = append(found, failure("publish", err)...)
	_, err = n.Sync(ctx, api.SyncRequest{From: "file:" + d.trees[d.follows], Corpus: d.follows}, nil)
	found = append(found, failure("peer sync", err)...)
	list, err := n.ListCorpora(ctx)
	found = append(found, failure("corpus list", err)...)
	for _, c := range list.Corpora {
		if c.Problem != "" {
			found = append(found, said{"corpus list", c.Problem})
		}
	}
	return found
}

// next is the steps that hints name, for whoever follows them.
var (
	nextSync   = regexp.MustCompile("arborist peer sync \\S+ ([^\\s`,;:]+/[^\\s`,;:]+)")
	nextHeal   = "arborist check --heal"
	nextRepair = "arborist check --repair"
	nextAdd    = "arborist add"
)

// follow takes the steps that are named, once each, and returns what a repair says.
func (d *damagedHome) follow(t *testing.T, found []said) (did []said) {
	var heal, repair, again bool
	sync := make(map[string]bool)
	for _, f := range found {
		heal = heal || strings.Contains(f.text, nextHeal)
		repair = repair || strings.Contains(f.text, nextRepair)
		again = again || strings.Contains(f.text, nextAdd)
		for _, m := range nextSync.FindAllStringSubmatch(f.text, -1) {
			sync[m[1]] = true
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if repair {
		d.steps = append(d.steps, "repair")
		lines, err := Salvage(ctx, d.home, false)
		did = append(did, failure("check --repair", err)...)
		for _, l := range lines {
			did = append(did, said{"repair", l})
			for _, m := range nextSync.FindAllStringSubmatch(l, -1) {
				sync[m[1]] = true
			}
		}
	}
	n, err := Open(ctx, Options{Home: d.home})
	if err != nil {
		return append(did, failure("open", err)...)
	}
	defer n.Close()
	if repair {
		res, err := n.CheckWith(ctx, api.CheckRequest{Repair: true})
		did = append(did, failure("check --repair", err)...)
		for _, l := range append(res.Repaired, res.Problems...) {
			did = append(did, said{"repair", l})
			heal = heal || strings.Contains(l, nextHeal)
			again = again || strings.Contains(l, nextAdd)
		}
	}
	for origin := range sync {
		d.steps = append(d.steps, "sync")
		_, err := n.Sync(ctx, api.SyncRequest{From: "file:" + d.trees[origin], Corpus: origin}, nil)
		did = append(did, failure("peer sync "+origin, err)...)
	}
	if heal {
		d.steps = append(d.steps, "heal")
		from := make([]string, 0, len(d.trees))
		for _, tree := range d.trees {
			from = append(from, "file:"+tree)
		}
		_, err := n.CheckWith(ctx, api.CheckRequest{Heal: true, From: from})
		did = append(did, failure("check --heal", err)...)
	}
	if again {
		d.steps = append(d.steps, "add")
		for _, req := range slices.Concat(d.sources, d.added) {
			_, err := n.Add(ctx, req, nil)
			did = append(did, failure("add again", err)...)
		}
	}
	return did
}

// damage puts other content in place of one page of a file.
func (d *damagedHome) damage(t *testing.T, file string, page int, content []byte) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(string(d.home), file), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(content, int64(page)*diskPage); err != nil {
		t.Fatal(err)
	}
}

// mustBecomeHealthy uses the home as it is, and follows what it says.
func (d *damagedHome) mustBecomeHealthy(t *testing.T, image string) {
	t.Helper()
	var log []string
	fail := func(format string, args ...any) {
		t.Errorf("%s: %s\n%s", image, fmt.Sprintf(format, args...), strings.Join(log, "\n"))
	}
	for round := range 5 {
		n, err := Open(t.Context(), Options{Home: d.home})
		found := failure("open", err)
		if err == nil {
			found = d.all(t, n, round)
			if err := n.Close(); err != nil {
				found = append(found, failure("close", err)...)
			}
		}
		if len(found) == 0 {
			return
		}
		for _, f := range found {
			log = append(log, fmt.Sprintf("%d %s: %s", round, f.verb, f.text))
			if !f.clear(d.home) {
				fail("%s says neither the file nor what to do: %s", f.verb, f.text)
				return
			}
		}
		for _, f := range d.follow(t, found) {
			log = append(log, fmt.Sprintf("%d did %s: %s", round, f.verb, f.text))
		}
	}
	fail("it is not healthy after %v", d.steps)
}

// Whatever page is lost, or holds what another should, somebody who knows nothing
// but what the program says gets a home that is healthy.
func TestWhoFollowsWhatIsSaidMendsAnyDamagedPage(t *testing.T) {
	d := aHomeToDamage(t)
	images, seed := 24, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("DAMAGE_IMAGES")); err == nil { // how many, and which
		images = n
	}
	if n, err := strconv.ParseUint(os.Getenv("DAMAGE_SEED"), 10, 64); err == nil {
		seed = n
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for image := range images {
		file := d.files()[image%len(d.files())]
		whole, err := os.ReadFile(filepath.Join(d.whole, file))
		if err != nil {
			t.Fatal(err)
		}
		page, other := random.IntN(len(whole)/diskPage), random.IntN(len(whole)/diskPage)
		content, kind := make([]byte, diskPage), "zeroed"
		switch random.IntN(3) {
		case 1:
			content, kind = whole[other*diskPage:][:diskPage], fmt.Sprintf("a copy of page %d", other)
		case 2:
			content, kind = bytes.Clone(whole[page*diskPage:][:diskPage]), "with flipped bits"
			for range 1 + random.IntN(40) {
				content[random.IntN(diskPage)] ^= 1 << random.IntN(8)
			}
		}
		if only := os.Getenv("DAMAGE_ONLY"); only != "" && only != strconv.Itoa(image) {
			continue
		}
		d.restore(t)
		d.damage(t, file, page, content)
		name := fmt.Sprintf("seed %d, image %d: %s, page %d %s", seed, image, file, page, kind)
		failed := t.Failed()
		d.mustBecomeHealthy(t, name)
		if t.Failed() != failed || os.Getenv("DAMAGE_IMAGES") != "" {
			t.Logf("%s: %v", name, d.steps)
		}
	}
}
