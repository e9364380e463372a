package pdf

import (
	"errors"
	"strings"
	"testing"
)

func TestPagesBecomeText(t *testing.T) {
	for name, c := range map[string]struct {
		pages []string
		want  string
	}{
		"lines stay lines":              {[]string{"one \r\n\r\n two\r\n"}, "one\ntwo"},
		"pages are apart":               {[]string{"one", "", "\r\n", "two"}, "one\n\ntwo"},
		"a divided word":                {[]string{"conference proceed\x02ings or"}, "conference proceedings or"},
		"capitals":                      {[]string{"OR IM\x02PLIED"}, "OR IMPLIED"},
		"more than once":                {[]string{"in\x02com\x02pat\x02ible"}, "incompatible"},
		"a name":                        {[]string{"the Navier\x02Stokes equations"}, "the Navier-Stokes equations"},
		"a number":                      {[]string{"pages 10\x0220"}, "pages 10-20"},
		"letters beyond ASCII":          {[]string{"Größen\x02änderung"}, "Größenänderung"},
		"a word with a hyphen":          {[]string{"a well\x02known one", "It is well-known."}, "a well-known one\n\nIt is well-known."},
		"one that is written both ways": {[]string{"on\x02line", "on-line and online"}, "online\n\non-line and online"},
		"at the end of a page":          {[]string{"the end\x02"}, "the end-"},
		"ligatures":                     {[]string{"eﬃcient ﬂow of ﬁles"}, "efficient flow of files"},
		"what no text holds":            {[]string{"a\x00b\ufffe\u00adc\ufeff\x1b[0m"}, "abc[0m"},
		"not UTF-8":                     {[]string{"a\xffb"}, "a\ufffdb"},
	} {
		var collect collected
		for _, p := range c.pages {
			if err := collect.add(Page, []byte(p)); err != nil {
				t.Fatal(err)
			}
		}
		if got := collect.document(); string(got.Text) != c.want || got.Pages != len(c.pages) {
			t.Errorf("%s: %q, want %q", name, got.Text, c.want)
		}
	}
}

func TestTitlesAreThoseOfPeople(t *testing.T) {
	for _, c := range []struct{ stated, text, want string }{
		{"A title", "A line", "A title"},
		{" A\r\ntitle\x00 ", "A line", "A title"},
		{"", "12\n- 3 -\nA line\nanother", "A line"},
		{"apssamp.dvi", "A line", "A line"},
		{"Microsoft Word - Report.DOC", "A line", "A line"},
		{"Microsoft Word - Annual report", "A line", "Annual report"},
		{"untitled", "A line", "A line"},
		{"Untitled", "12", ""},
		{"Go 1.26", "A line", "A line"},
		{"東京", "A line", "東京"},
		{"", "", ""},
	} {
		if got := chooseTitle(c.stated, c.text); got != c.want {
			t.Errorf("%q over %q: %q, want %q", c.stated, c.text, got, c.want)
		}
	}
}

func TestAWorkerIsNotBelievedAboutSizes(t *testing.T) {
	var many collected
	for range MaxPages {
		if err := many.add(Page, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := many.add(Page, nil); !errors.Is(err, ErrLimit) {
		t.Errorf("a page more: %v", err)
	}
	var large collected
	page := []byte(strings.Repeat("x", MaxText/2))
	for i, want := range []error{nil, nil, ErrLimit} {
		if err := large.add(Page, page); !errors.Is(err, want) {
			t.Errorf("page %d: %v", i, err)
		}
	}
}
