package extract

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func parsed(t *testing.T, page string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func render(t *testing.T, page string) string {
	t.Helper()
	c := startClock(t.Context(), time.Minute)
	defer c.stop()
	text, err := toMarkdown(c, first(parsed(t, page), atom.Body), true, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestMarkdownOfSmallThings(t *testing.T) {
	for page, want := range map[string]string{
		"a &lt; b &amp;&amp; c &gt; d":                           "a < b && c > d",
		"vector&lt;int&gt;":                                      `vector\<int>`,
		"&lt;/p&gt; &lt;!-- &lt;?php &lt;1":                      `\</p> \<!-- \<?php <1`,
		"&gt; not a quote":                                       `\> not a quote`,
		"<pre>a &lt;b&gt; __c__</pre>":                           "```\na <b> __c__\n```",
		"snake_case and a__b_c":                                  "snake_case and a__b_c",
		"_private and dunder__ and __init__":                     `\_private and dunder\_\_ and \_\_init\_\_`,
		"2 * 3 * 4":                                              "2 * 3 * 4",
		"<a href='x.html'>in</a> <a href='#y'>it</a>":            "in it",
		"<a href='HTTPS://h/x'>out</a>":                          "[out](https://h/x)",
		"<a href='https://h/'><img src=x></a>end":                "end",
		"<a href='javascript:x'>no</a><a href='data:x'>no</a>":   "nono",
		"<a name=x>old anchor</a>":                               "old anchor",
		"<a href=x><b>bold</b> link</a>":                         "**bold** link",
		"<img alt='Two words' src=https://h/i.png>":              "Two words",
		"<img alt='word' src=https://h/i.png>text":               "text",
		"<nav>menu</nav><p hidden>hidden</p><svg><text>s</svg>t": "t",
		"<select><option>a</select><button>b</button>t":          "t",
		"<table><tr><th>a<th>b<tr><td colspan=9999999>c</table>": "| a | b |\n|---|---|\n| c |  |",
	} {
		if got := render(t, page); got != want {
			t.Errorf("%s\n got %q\nwant %q", page, got, want)
		}
	}
}

func TestPageThatGrowsTooMuchIsReadByItsTokens(t *testing.T) {
	page := strings.Repeat("<blockquote>", 200) + "<pre>" + strings.Repeat("a\n", 40_000)
	got, err := Extract(t.Context(), "text/html", "", []byte(page))
	if err != nil || got.Extractor != tokensExtractor || len(got.Markdown) > len(page) {
		t.Errorf("%s: %d bytes became %d, %v", got.Extractor, len(page), len(got.Markdown), err)
	}
}

func TestClockStopsWhatTakesNoContext(t *testing.T) {
	c := startClock(t.Context(), 1)
	defer c.stop()
	for deadline := time.Now().Add(time.Second); c.err() == nil && time.Now().Before(deadline); {
	}
	page := []byte("<p>" + strings.Repeat("text, and more. ", 2000))
	if _, err := parseTree(c, page); !errors.Is(err, errLimit) {
		t.Errorf("parser: %v", err)
	}
	doc := parsed(t, string(page))
	if _, err := mainContent(c, doc); !errors.Is(err, errLimit) {
		t.Errorf("extractor: %v", err)
	}
	if _, err := toMarkdown(c, parsed(t, string(page)), true, 1<<20); !errors.Is(err, errLimit) {
		t.Errorf("converter: %v", err)
	}
}

func TestFaultOfALibraryIsNotTheEnd(t *testing.T) {
	if err := guard(func() error { panic("index out of range") }); !errors.Is(err, errLimit) {
		t.Errorf("%v", err)
	}
	cause := errors.New("cause")
	if err := guard(func() error { panic(abort{cause}) }); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if err := guard(func() error { return cause }); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}
