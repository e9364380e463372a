package extract

import (
	"strings"

	"golang.org/x/net/html"
)

// linear writes MathML in one line, as people type it: a/b, x^2, √(a+b).
func linear(n *html.Node) string {
	if n.Type == html.TextNode {
		s := oneLine(n.Data)
		if s == "\u2061" { // of a function to what follows
			return " "
		}
		return strings.Trim(s, "\u2062\u2063\u2064") // signs that are not seen
	}
	var parts []string
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode || c.Type == html.TextNode && oneLine(c.Data) != "" {
			parts = append(parts, linear(c))
		}
	}
	signs := map[string]string{"mfrac": "/", "msup": "^", "mover": "^", "msub": "_", "munder": "_", "msubsup": "_^", "munderover": "_^"}
	if between := signs[n.Data]; between != "" && len(parts) == len(between)+1 {
		s := grouped(parts[0])
		for i, part := range parts[1:] {
			s += between[i:i+1] + grouped(part)
		}
		return s
	}
	switch n.Data {
	case "annotation", "annotation-xml":
		return ""
	case "msqrt":
		return "√(" + strings.Join(parts, "") + ")"
	case "mroot":
		return "root(" + strings.Join(parts, ", ") + ")"
	case "mtable":
		return "[" + strings.Join(parts, "; ") + "]"
	case "mtr":
		return strings.Join(parts, ", ")
	case "mtext":
		return " " + strings.Join(parts, "") + " "
	}
	return strings.Join(parts, "")
}

// grouped puts parentheses around what is more than one name or number.
func grouped(s string) string {
	if s = strings.TrimSpace(s); strings.ContainsAny(s, "+-−±=/^_ ·×,") {
		return "(" + s + ")"
	}
	return s
}
