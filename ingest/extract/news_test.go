package extract

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// newsDir holds 181 news pages with the text of their articles; its README
// says where they come from.
const newsDir = "/work/shared/data/article-extraction/"

type newsPage struct {
	ArticleBody string
	URL         string
	body        []byte
}

func readNews(t testing.TB) []newsPage {
	t.Helper()
	b, err := os.ReadFile(newsDir + "ground-truth.json")
	if err != nil {
		t.Skipf("article-extraction data is not here: %v", err)
	}
	byID := map[string]newsPage{}
	if err := json.Unmarshal(b, &byID); err != nil {
		t.Fatal(err)
	}
	var pages []newsPage
	for id, p := range byID {
		f, err := os.Open(newsDir + "html/" + id + ".html.gz")
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if p.body, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
		f.Close()
		pages = append(pages, p)
	}
	slices.SortFunc(pages, func(a, b newsPage) int { return strings.Compare(a.URL, b.URL) })
	return pages
}

var (
	wordPattern = regexp.MustCompile(`[\p{L}\p{N}_]+`)
	linkPattern = regexp.MustCompile(`!?\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*(?:\s"[^"]*")?\)`)
)

// plain takes link targets and escapes out of Markdown, to compare its words.
func plain(markdown string) string {
	for range 3 { // images inside links
		markdown = linkPattern.ReplaceAllString(markdown, " $1 ")
	}
	return strings.ReplaceAll(markdown, `\`, "")
}

// shingles counts each run of four words, as the authors of the data do.
func shingles(s string) map[string]int {
	words := wordPattern.FindAllString(s, -1)
	m := map[string]int{}
	if len(words) > 0 && len(words) < 4 {
		m[strings.Join(words, " ")]++
	}
	for i := 0; i+4 <= len(words); i++ {
		m[strings.Join(words[i:i+4], " ")]++
	}
	return m
}

// A score collects precision and recall, averaged over pages.
type score struct{ precision, recall, pages float64 }

func (s *score) add(want, got string) (precision, recall float64) {
	a, b := shingles(want), shingles(got)
	var both, wanted, given float64
	for k, n := range a {
		wanted += float64(n)
		both += float64(min(n, b[k]))
	}
	for _, n := range b {
		given += float64(n)
	}
	s.pages++
	if given > 0 {
		precision = both / given
	}
	if wanted > 0 {
		recall = both / wanted
	}
	s.precision += precision
	s.recall += recall
	return precision, recall
}

func (s *score) f1() (f1, precision, recall float64) {
	precision, recall = s.precision/s.pages, s.recall/s.pages
	return 2 * precision * recall / (precision + recall), precision, recall
}

func TestNewsPagesGiveTheirArticle(t *testing.T) {
	pages := readNews(t)
	var whole, body score
	extractors := map[string]int{}
	for _, p := range pages {
		got, err := Extract(t.Context(), "text/html", p.URL, p.body)
		if err != nil {
			t.Errorf("%s: %v", p.URL, err)
			continue
		}
		extractors[got.Extractor]++
		text := plain(string(got.Markdown))
		whole.add(p.ArticleBody, text)
		// The data hold the article's body apart from its title.
		if first, rest, found := strings.Cut(text, "\n"); found && strings.HasPrefix(first, "# ") {
			text = rest
		}
		precision, recall := body.add(p.ArticleBody, text)
		if precision < .5 || recall < .5 {
			t.Logf("precision %.2f, recall %.2f, %s: %s", precision, recall, got.Extractor, p.URL)
		}
	}
	f1, precision, recall := whole.f1()
	t.Logf("with the title's heading: F1 %.4f, precision %.4f, recall %.4f", f1, precision, recall)
	f1, precision, recall = body.f1()
	t.Logf("body: F1 %.4f, precision %.4f, recall %.4f, %v", f1, precision, recall, extractors)
	if f1 < .95 {
		t.Errorf("F1 of %d pages is %.4f, want at least .95", len(pages), f1)
	}
}

func BenchmarkNews(b *testing.B) {
	pages := readNews(b)
	total := 0
	for _, p := range pages {
		total += len(p.body)
	}
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range pages {
			if _, err := Extract(b.Context(), "text/html", p.URL, bytes.Clone(p.body)); err != nil {
				b.Fatal(err)
			}
		}
	}
}
