package extract

import "testing"

func TestMarkdownTitles(t *testing.T) {
	for text, want := range map[string]string{
		"# One\n":                                "One",
		"text\n\n# One #\n":                      "One",
		"One\n===\ntext":                         "One",
		"\n===\n":                                "",
		"## Two\n":                               "",
		"```\n# no\n```\n# yes\n":                "yes",
		"~~~sh\n# no\n~~~\n":                     "",
		"---\ntitle: \"In front\"\n---\n# One\n": "In front",
		"---\r\ntitle: In front\r\n---\r\n# One": "In front",
		"---\ntitle:\n---\n# One\n":              "One",
		"---\nnever closed\n# One\n":             "One",
		"#no space\n":                            "",
		"":                                       "",
		"#  Spaces   and\ttabs  \n":              "Spaces and tabs",
	} {
		if got := markdownTitle([]byte(text)); got != want {
			t.Errorf("%q has title %q, want %q", text, got, want)
		}
	}
}
