package extract

import (
	"strings"
	"testing"
)

// prose is enough of it for an article.
var prose = "<p>" + strings.Repeat("The quick brown fox jumps over the lazy dog, and the dog does not mind at all. ", 8) + "</p>"

func TestWhatMarkdownHasNoSignForIsSpelledOut(t *testing.T) {
	for page, want := range map[string]string{
		"<q>a <q>b</q></q> c":                                                           "“a ‘b’” c",
		"10<sup>6</sup> and x<sup>−1</sup>":                                             "10^6 and x^−1",
		"note<sup><a href='#n'>2</a></sup>":                                             "note^2",
		"the 10<sup>th</sup> H<sub>2</sub>O":                                            "the 10th H2O",
		"a<sup></sup>b<sup><i></i></sup>c":                                              "abc",
		"<math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math>.": "`E=mc^2`.",
		"<math><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><msqrt><mi>x</mi></msqrt></mfrac></math>":                         "`(a+1)/√(x)`",
		"<math><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover></math>":                    "`∑_(i=1)^n`",
		"<math><mi>sin</mi><mo>&#x2061;</mo><mi>x</mi><mo>&#x2062;</mo><mi>y</mi></math>":                                          "`sin xy`",
		"<math><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable></math>":      "`[1, 2; 3]`",
		"<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>\\frac{a_1}{b}</annotation></semantics></math> is it": "`\\frac{a_1}{b}` is it",
		"<math alttext='x^2'><mi>x</mi></math>": "`x^2`",
		"<math></math>x":                        "x",
		// As KaTeX draws it, and as Wikipedia does.
		"a <span><span><math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x</annotation></semantics></math></span><span aria-hidden=true>x</span></span> b": "a `x` b",
		"a <span><span style='display:none'><math alttext='{\\displaystyle y}'><mi>y</mi></math></span><img alt='{\\displaystyle y}'></span> b":                              "a `y` b",
		"a <svg><title>icon</title><style>x</style><defs><text>d</text></defs><g><text>One</text><text>Two</text></g></svg> b":                                               "a One Two b",
		"a <svg aria-hidden=true><text>One</text></svg> b":           "a b",
		"a <svg><foreignObject><p>Label</p></foreignObject></svg> b": "a Label b",
	} {
		for _, around := range [][2]string{{"<h1>t</h1><p>", "</p>"}, {"<main><pre>code</pre><p>", "</p></main>"}, {"<article>" + prose + "<p>", "</p>" + prose + "</article>"}} {
			got := string(extractPage(t, around[0]+page+around[1]).Markdown)
			if !strings.Contains("\n"+got+"\n", "\n"+want+"\n") {
				t.Errorf("%s\n got %q\nwant %q", page, got, want)
			}
		}
	}
}

func TestSeveralHeadingsOfTheFirstLevelKeepIt(t *testing.T) {
	got := string(extractPage(t, "<title>Both</title><article><h1>One</h1>"+prose+"<h2>Inner</h2>"+prose+"<h1>Two</h1>"+prose+"</article>").Markdown)
	for _, want := range []string{"# One\n", "\n## Inner\n", "\n# Two\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}
