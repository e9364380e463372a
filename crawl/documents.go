package crawl

import (
	"strings"

	"arborist/crawl/internal/weburl"
)

// kind gives what document file an address names ("pdf"), and "" where it names
// none. Only the path counts, not what the server says.
func (n notPages) kind(u weburl.URL) string {
	path := u.Path()
	end := path[max(0, len(path)-len(".docx")):] // as much as may matter
	if robots := path == "/robots.txt"; robots || !n.document.MatchString(end) {
		return ""
	}
	return strings.ToLower(path[strings.LastIndexByte(path, '.')+1:])
}

const reasonDocument = "a document file, which --documents brings in"

// leaveOut says why a document file is not fetched, and is "" where it is. The
// seed was asked for by name.
func (c *Crawler) leaveOut(kind string, seed bool) string {
	switch {
	case kind == "":
		return ""
	case !seed && !c.cfg.Documents:
		return reasonDocument
	}
	return ""
}

// isBinary reports whether files of a kind are read whatever the server says
// that they are: to many servers they are just bytes.
func isBinary(kind string) bool {
	switch kind {
	case "docx", "xlsx", "pptx", "doc", "xls", "ppt", "rtf", "pdf":
		return true
	}
	return false
}

// isDocument reports whether an entry of the crawl, other than the seed, is a
// document file, and of which kind.
func (c *Crawler) isDocument(url string, depth int) (kind string, is bool) {
	u, err := c.parser.Parse(url)
	if err != nil || depth == 0 {
		return "", false
	}
	kind = c.names.kind(u)
	return kind, kind != ""
}

// socialMedia reports whether a host is one of the networks that every site
// links to for its own sake.
func socialMedia(host string) bool {
	for {
		switch host {
		case "facebook.com", "fb.com", "fb.me", "instagram.com", "threads.net", "whatsapp.com", "wa.me", "twitter.com", "x.com", "t.co",
			"linkedin.com", "youtube.com", "youtu.be", "tiktok.com", "pinterest.com", "reddit.com", "tumblr.com", "snapchat.com",
			"telegram.org", "telegram.me", "t.me", "discord.com", "discord.gg", "vk.com", "weibo.com", "xing.com", "bsky.app", "mastodon.social":
			return true
		}
		_, parent, ok := strings.Cut(host, ".")
		if !ok {
			return false
		}
		host = parent
	}
}
