package extract

import (
	"bytes"
	"context"
	"net/url"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// fromHTML gives a page's main content as Markdown.
func fromHTML(ctx context.Context, uri string, page []byte) (Text, error) {
	base, err := url.Parse(uri)
	if err != nil {
		base = nil
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return Text{}, err
	}
	parser := readability.NewParser()
	article, err := parser.ParseDocument(doc, base)
	t := Text{Extractor: "html-article/1"}
	node := article.Node
	if err != nil || node == nil {
		node, t.Extractor = doc, "html-body/1"
	}
	t.Title = strings.TrimSpace(article.Title())
	t.Markdown, err = toMarkdown(ctx, base, node)
	return t, err
}

func toMarkdown(ctx context.Context, at *url.URL, node *html.Node) ([]byte, error) {
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	domain := ""
	if at != nil && (at.Scheme == "http" || at.Scheme == "https") {
		domain = at.String()
	}
	return conv.ConvertNode(node, converter.WithContext(ctx), converter.WithDomain(domain))
}
