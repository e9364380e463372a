package daemon

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/internal/arbtest/stranger"
	"arborist/shard"
)

// privateText is what only the crawl db of one of two nodes holds. It shares
// words with the public documents, so that it would shift their ranking if its
// statistics leaked.
func privateText(i int) string {
	return fmt.Sprintf("Private page %d: the granite ledger of the quarry, granite granite, secretword%d.", i, i)
}

const privatePages = 40

// twins are two nodes with the same keys and the same shared shards.
type twins struct {
	full, empty *Node // with and without private documents
}

func newTwins(t testing.TB) twins {
	t.Helper()
	docs := t.TempDir()
	for i := range 12 {
		writeFile(t, filepath.Join(docs, fmt.Sprintf("p%d.md", i)), fmt.Sprintf("# Page %d\n\nThe granite quarry, part %d, and what the river does.", i, i))
	}
	first := newHome(t)
	n := openNode(t, first)
	add(t, n, api.AddRequest{Paths: []string{docs}})
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	second := Home(filepath.Join(t.TempDir(), "twin"))
	if err := os.CopyFS(string(second), os.DirFS(string(first))); err != nil {
		t.Fatal(err)
	}
	// CopyFS opens the keys to the group, which the node rightly refuses.
	if err := filepath.Walk(string(second.Keys()), func(p string, st os.FileInfo, err error) error {
		if err != nil || st.IsDir() {
			return err
		}
		return os.Chmod(p, 0o600)
	}); err != nil {
		t.Fatal(err)
	}

	tw := twins{full: openNode(t, first), empty: openNode(t, second)}
	private := t.TempDir()
	for i := range privatePages {
		writeFile(t, filepath.Join(private, fmt.Sprintf("s%d.md", i)), privateText(i))
	}
	add(t, tw.full, api.AddRequest{Paths: []string{private}, Private: true})
	// Attached files are as private, also one that its maker shared.
	for _, kind := range []shard.Kind{shard.KindShared, shard.KindPrivate} {
		file := donorFile(t, kind, privateText(0), privateText(1), fmt.Sprintf("Attached granite, of a %s file.", kind))
		if _, err := tw.full.Attach(t.Context(), file); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []*Node{tw.full, tw.empty} {
		n.cfg.Peer.AnswerQueries = true // the most that a node can tell
		if err := n.listenForPeers(); err != nil {
			t.Fatal(err)
		}
	}
	return tw
}

// requests is the recorded set: every kind of resource, for what is shared,
// private and nowhere, well and badly formed.
func requests(t *testing.T, n *Node) []string {
	t.Helper()
	corpora, err := n.shared.Corpora().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	origin := corpora[0].Origin
	paths := []string{
		"", "corpora", "corpora?x=1", "corpora/", "nonsense", "../../crawl/web.db", "%2e%2e/crawl/web.db",
		origin, origin + "/", origin + "/key", origin + "/checkpoint", origin + "/filter",
		origin + "/tile/0/000.p/12", origin + "/tile/0/000", origin + "/tile/0/001", origin + "/tile/9/000",
		origin + "/tile/entries/000.p/12", origin + "/tile/entries/000.p/13", origin + "/pack/000.p/12", origin + "/pack/000.p/200",
		strings.Replace(origin, "/main", "/private", 1) + "/checkpoint",
		strings.Replace(origin, "/main", "/crawl", 1) + "/checkpoint",
	}
	if head, _, err := n.shared.Corpora().Filter(t.Context(), origin); err == nil {
		paths = append(paths, fmt.Sprintf("%s/fuse/%x", origin, head.Sum))
	} else {
		t.Error(err)
	}
	roots := []document.Root{{1, 2, 3}}
	for i := range privatePages {
		roots = append(roots, rootOf(t, privateText(i)))
	}
	for i := range 12 {
		roots = append(roots, rootOf(t, fmt.Sprintf("# Page %d\n\nThe granite quarry, part %d, and what the river does.", i, i)))
	}
	for _, r := range roots {
		paths = append(paths, origin+"/doc/"+r.String(), origin+"/proof/"+r.String()+"/0", origin+"/proof/"+r.String()+"/7",
			"doc/"+r.String(), origin+"/doc/"+strings.ToUpper(r.String()))
	}
	// Words of both, of one alone, and of neither; statistics would show in the order.
	for i, q := range []string{"granite", "granite quarry", "granite ledger", "ledger", "secretword1", "nowhereword", "secretword*", `"the quarry"`, "page river -part"} {
		paths = append(paths, fmt.Sprintf("search/%d/%s", 20-i, base64.RawURLEncoding.EncodeToString([]byte(q))))
	}
	for i := range 5 {
		paths = append(paths, fmt.Sprintf("search?q=secretword%d", i), fmt.Sprintf("%s/search?q=secretword%d", origin, i),
			fmt.Sprintf("%s/doc/s%d.md", origin, i))
	}
	return paths
}

func rootOf(t testing.TB, text string) document.Root {
	t.Helper()
	d, err := document.New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d.Root()
}

// replies asks a node everything and returns what came, byte for byte.
func replies(t *testing.T, n *Node, paths []string) map[string]stranger.Reply {
	t.Helper()
	id, err := n.PeerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := stranger.Dial(t.Context(), id.Addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := map[string]stranger.Reply{}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		for _, p := range paths {
			r, err := s.Do(t.Context(), method, p)
			if err != nil {
				r.Raw = "error: " + err.Error()
			}
			got[method+" "+p] = r
		}
	}
	return got
}

// differences lists the requests that the two answer differently.
func differences(a, b map[string]stranger.Reply) []string {
	var diff []string
	for req, r := range a {
		if r != b[req] {
			diff = append(diff, fmt.Sprintf("%s:\n%q\n%q", req, r.Raw, b[req].Raw))
		}
	}
	return diff
}

// TestPrivateStoreChangesNoReply is the non-interference test of the privacy
// wall: a full private store and an empty one give peers the same bytes.
func TestPrivateStoreChangesNoReply(t *testing.T) {
	tw := newTwins(t)
	paths := requests(t, tw.full)
	full, empty := replies(t, tw.full, paths), replies(t, tw.empty, paths)
	for _, d := range differences(full, empty) {
		t.Error("the private store shows in the reply to ", d)
	}
	served := 0
	for _, r := range full {
		if r.Status == http.StatusOK {
			served++
		}
		for i := range privatePages {
			if strings.Contains(r.Raw, fmt.Sprintf("secretword%d", i)) && !strings.Contains(r.Raw, "search?q=") {
				t.Errorf("private text in a reply: %q", r.Raw)
			}
		}
	}
	// A node that refuses everything would pass the comparison too.
	if served < 30 {
		t.Errorf("only %d requests were served", served)
	}

	// A private root and one that is nowhere are one and the same to a peer.
	origin := mainOrigin(t, tw.full)
	nowhere := full["GET "+origin+"/doc/"+document.Root{1, 2, 3}.String()]
	for i := range privatePages {
		if got := full["GET "+origin+"/doc/"+rootOf(t, privateText(i)).String()]; got != nowhere {
			t.Errorf("private root: %q, nowhere root: %q", got.Raw, nowhere.Raw)
		}
	}
}

// TestNonInterferenceTestCanFail is the mutant: with the same documents on the
// wrong side of the wall the comparison must find them.
func TestNonInterferenceTestCanFail(t *testing.T) {
	tw := newTwins(t)
	paths := requests(t, tw.full)
	leak := t.TempDir()
	writeFile(t, filepath.Join(leak, "s0.md"), privateText(0))
	add(t, tw.full, api.AddRequest{Paths: []string{leak}})
	if len(differences(replies(t, tw.full, paths), replies(t, tw.empty, paths))) == 0 {
		t.Fatal("a leaked document changed no reply")
	}
}

// TestPeersSearchRanksWithSharedStatisticsAlone: scores are the statistics
// made visible, so they must not move with private text.
func TestPeersSearchRanksWithSharedStatisticsAlone(t *testing.T) {
	tw := newTwins(t)
	for _, text := range []string{"granite", "granite quarry river", "secretword3", "\"part 7\"", "ledger"} {
		q := shard.Query{Text: text, Limit: 50}
		full, err := tw.full.shared.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		empty, err := tw.empty.shared.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if f, e := ranking(full), ranking(empty); !reflect.DeepEqual(f, e) {
			t.Errorf("%q: %v with private text, %v without", text, f, e)
		}
	}
	// The owner's own search does see private text, with its statistics.
	res, err := tw.full.Query(t.Context(), api.QueryRequest{Text: "secretword3"})
	if err != nil || len(res.Hits) != 1 || res.Hits[0].Source != sourceCrawl {
		t.Errorf("the owner's query: %+v, %v", res.Hits, err)
	}
}

func ranking(r shard.Results) []string {
	out := []string{fmt.Sprint(r.Total, r.Mode)}
	for _, h := range r.Hits {
		out = append(out, fmt.Sprintf("%s %d %v", h.Root, h.Index, h.Score))
	}
	return out
}

func mainOrigin(t testing.TB, n *Node) string {
	t.Helper()
	info, err := n.lookupCorpus(t.Context(), MainCorpus)
	if err != nil {
		t.Fatal(err)
	}
	return info.Origin
}

// newHome makes a home for tests. Its path is short enough for a socket.
func newHome(t testing.TB) Home {
	t.Helper()
	home := Home(filepath.Join(t.TempDir(), "home"))
	if _, err := Init(t.Context(), home, 2); err != nil {
		t.Fatal(err)
	}
	return home
}

// openNode opens a home that listens on loopback once it is told to.
func openNode(t testing.TB, home Home) *Node {
	t.Helper()
	n, err := Open(t.Context(), Options{Home: home, Listen: []string{"/ip4/127.0.0.1/tcp/0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func add(t testing.TB, n *Node, req api.AddRequest) api.AddResult {
	t.Helper()
	res, err := n.Add(context.WithoutCancel(t.Context()), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Failed) > 0 {
		t.Fatalf("add failed: %v", res.Failed)
	}
	return res
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
