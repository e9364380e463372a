package extract

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"arborist/internal/arbtest/ole"
	"arborist/internal/arbtest/ooxml"
)

func TestExtractIsSafeForConcurrentUse(t *testing.T) {
	// Code in lists reaches a slice that the converter shares.
	page := []byte("<h1>T</h1><ul>" + strings.Repeat("<li>one<pre>a\nb\n\n c</pre><ol><li><pre>d\ne</pre></ol>", 50) + "</ul><table><tr><td>x<td>y</table>")
	want, err := Extract(t.Context(), "text/html", "", page)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				got, err := Extract(t.Context(), "text/html", "", page)
				if err != nil || !bytes.Equal(got.Markdown, want.Markdown) {
					t.Errorf("differs: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestExtractEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for _, typ := range []string{"text/html", "text/plain"} {
		if _, err := Extract(ctx, typ, "", []byte("<p>text")); !errors.Is(err, cause) {
			t.Errorf("%s: %v, want the context's cause", typ, err)
		}
	}
}

func TestTextIsTakenAsItIs(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		markdown, title         string
		extractor, media        string
	}{
		{"markdown", "text/markdown; charset=utf-8", "---\na: b\n---\n# The *title* ##\n\ntext", "---\na: b\n---\n# The *title* ##\n\ntext", "The *title*", "markdown/1", "text/markdown"},
		{"markdown without a heading", "text/markdown", "text\n## Two\n", "text\n## Two\n", "", "markdown/1", "text/markdown"},
		{"heading in code is none", "text/x-markdown", "```\n# no\n```\n# yes\n", "```\n# no\n```\n# yes\n", "yes", "markdown/1", "text/x-markdown"},
		{"plain", "text/plain", "  a\n\n\n<b>\n", "  a\n\n\n<b>\n", "", "text/1", "text/plain"},
		{"any text", "text/csv", "a,b\n", "a,b\n", "", "text/1", "text/csv"},
		{"nothing declared", "", "just words\n", "just words\n", "", "text/1", "text/plain"},
		{"octet stream that is text", "application/octet-stream", "just words\n", "just words\n", "", "text/1", "text/plain"},
		{"broken declaration", "text/plain; charset", "words", "words", "", "text/1", "text/plain"},
		{"xml that is no page", "text/xml", "<a>b</a>", "<a>b</a>", "", "text/1", "text/xml"},
		{"byte order mark", "text/plain", "\xef\xbb\xbfwords", "words", "", "text/1", "text/plain"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Extract(t.Context(), c.contentType, "file:x", []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			want := Text{Title: c.title, Markdown: []byte(c.markdown), Extractor: c.extractor, ContentType: c.media}
			if string(got.Markdown) != c.markdown || got.Title != want.Title || got.Extractor != want.Extractor || got.ContentType != want.ContentType {
				t.Errorf("got %+v\n%q\nwant %+v\n%q", got, got.Markdown, want, want.Markdown)
			}
		})
	}
}

func TestPagesAreRecognised(t *testing.T) {
	const xhtml = `<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x"><html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title><script src="a.js"/></head><body><p>seen</p></body></html>`
	for _, c := range []struct{ name, contentType, body string }{
		{"declared", "text/html", "<p>seen</p>"},
		{"declared in capitals", "Text/HTML; Charset=UTF-8", "<p>seen</p>"},
		{"sniffed doctype", "", "\n<!DOCTYPE html><p>seen</p>"},
		{"sniffed comment", "", "<!--{\"Title\": \"T\"}-->\n<!-- x --><h2 id=a>seen</h2>"},
		{"xhtml", "application/xhtml+xml", xhtml},
		{"xhtml as xml", "application/xml", xhtml},
		{"xhtml as text", "text/xml", xhtml},
		{"xhtml sniffed", "", xhtml},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Extract(t.Context(), c.contentType, "", []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got.Extractor, "html-") || strings.Trim(string(got.Markdown), "# ") != "seen" {
				t.Errorf("%s made %q", got.Extractor, got.Markdown)
			}
		})
	}
}

// A byte order mark is no text: it neither stands in what is stored nor keeps the head
// of a page from being its head.
func TestAByteOrderMarkIsNoText(t *testing.T) {
	const page = "<html><head><title>Sixteen</title></head><body><p>café of words</p></body></html>"
	wide := func(mark string, order binary.AppendByteOrder) string {
		b := []byte(mark)
		for _, u := range utf16.Encode([]rune(page)) {
			b = order.AppendUint16(b, u)
		}
		return string(b)
	}
	for name, body := range map[string]string{
		"none": page, "utf-8": "\xef\xbb\xbf" + page, "utf-16le": wide("\xff\xfe", binary.LittleEndian), "utf-16be": wide("\xfe\xff", binary.BigEndian),
	} {
		for _, contentType := range []string{"text/html", "text/html; charset=windows-1251", "application/xhtml+xml"} {
			if name == "none" && strings.Contains(contentType, "1251") {
				continue
			}
			got, err := Extract(t.Context(), contentType, "http://h/", []byte(body))
			if err != nil || got.Title != "Sixteen" || strings.TrimSpace(string(got.Markdown)) != "café of words" {
				t.Errorf("%s as %s: title %q, text %q, %v", name, contentType, got.Title, got.Markdown, err)
			}
		}
	}
}

func TestCharsetsAreDecoded(t *testing.T) {
	const word = "caf\xe9" // in windows-1252
	page := func(head string) string {
		return "<html><head>" + head + "</head><body><p>" + word + "</p></body></html>"
	}
	for _, c := range []struct{ name, contentType, body, want string }{
		{"server", "text/plain; charset=iso-8859-1", word, "café"},
		{"server wins over the page", "text/html; charset=windows-1251", page("<meta charset=windows-1252>"), "cafй"},
		{"mark wins over the server", "text/plain; charset=windows-1251", "\xef\xbb\xbfcafé", "café"},
		{"utf-16 by its mark", "text/plain", "\xff\xfec\x00a\x00f\x00\xe9\x00", "café"},
		{"utf-16 big end first", "text/html", "\xfe\xff\x00<\x00p\x00>\x00\xe9", "é"},
		{"utf-16 by the server", "text/plain; charset=utf-16le", "c\x00a\x00f\x00\xe9\x00", "café"},
		{"utf-8 without a word", "text/html", "<p>café", "café"},
		{"utf-8 after 4 KiB of ASCII", "text/html", "<title>t</title><p>" + strings.Repeat("a ", 4096) + "café", "café"},
		{"meta charset", "text/html", page("<meta charset='ISO-8859-2'>"), "café"},
		{"meta content", "text/html", page("<meta http-equiv=content-type content='text/html; charset=windows-1251'>"), "cafй"},
		{"meta after 2 KiB", "text/html", page("<title>" + strings.Repeat("x", 2048) + "</title><meta charset=windows-1251>"), "cafй"},
		{"xml declaration", "application/xhtml+xml", "<?xml version='1.0' encoding='windows-1251'?>" + page(""), "cafй"},
		{"meta that cannot be", "text/html", page("<meta charset=utf-16>"), "café"},
		{"nothing said", "text/plain", word + " au lait, s'il vous pla\xeet", "café"},
		{"by frequency", "text/plain", "\xef\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xe4\xe5\xeb\xe0? \xfd\xf2\xee \xef\xf0\xee\xf1\xf2\xee\xe9 \xf2\xe5\xea\xf1\xf2 \xed\xe0 \xf0\xf3\xf1\xf1\xea\xee\xec \xff\xe7\xfb\xea\xe5", "привет, как дела"},
		{"unknown name", "text/plain; charset=nonsense", "café", "café"},
		{"wrong bytes", "text/plain; charset=utf-8", "a\xffb", "a\uFFFDb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Extract(t.Context(), c.contentType, "", []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got.Markdown), c.want) {
				t.Errorf("got %.60q, want %q in it", got.Markdown, c.want)
			}
		})
	}
}

// Servers and folders call them anything.
func TestOfficeFilesAreKnownByTheirBytes(t *testing.T) {
	const text = "What the report says."
	for kind, file := range map[string][]byte{
		"docx": ooxml.Docx("<w:p><w:r><w:t>"+text+"</w:t></w:r></w:p>", nil),
		"doc":  ole.Doc{Paragraphs: []ole.Paragraph{{Text: text + "\r"}}}.File(),
		"ppt":  ole.Show(0xe391c05f, ole.Slide{Shapes: ole.Box(ole.Text(1, text))}),
		"rtf":  []byte(`{\rtf1 ` + text + `\par}`),
	} {
		for _, contentType := range []string{"", "application/zip", "text/html", "text/plain", "application/octet-stream", "application/msword"} {
			got, err := Extract(t.Context(), contentType, "", file)
			if err != nil || string(got.Markdown) != text || got.Extractor != kind+"/1" || got.ContentType != officeTypes[kind] {
				t.Errorf("%s, %q: %+v, %v", kind, contentType, got, err)
			}
		}
		if !IsDocument(file) {
			t.Errorf("%s is no document", kind)
		}
	}
	xls := ole.Book(0x600, nil, ole.Sheet{Name: "S", Records: ole.Record(0x204, ole.Cell(0, 0), ole.Narrow(text))})
	if got, err := Extract(t.Context(), "text/plain", "", xls); err != nil || got.Extractor != "xls/1" || !IsDocument(xls) {
		t.Errorf("%+v, %v", got, err)
	}
	// A page that calls itself a file of a program.
	if got, err := Extract(t.Context(), "application/vnd.ms-excel", "", []byte("<html><body><p>"+text)); err != nil || string(got.Markdown) != text {
		t.Errorf("%+v, %v", got, err)
	}
	for name, other := range map[string][]byte{
		"an archive": ooxml.Zip(map[string]string{"a.txt": text}), "an installer": ole.File(map[string][]byte{"Tables": []byte(text)}), "text": []byte(text), "nothing": nil,
	} {
		if IsDocument(other) {
			t.Errorf("%s is a document", name)
		}
	}
}

func TestWhatIsNoTextIsRefusedByName(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		want                    error
		names                   string
	}{
		{"pdf without a reader", "text/html", "%PDF-1.7\n", ErrUnsupported, "PDF"},
		{"pdf undeclared", "", "%PDF-1.7\n", ErrUnsupported, "PDF"},
		{"office", "text/plain", "PK\x03\x04....", ErrUnsupported, "Office"},
		{"office before 2007", "", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ErrUnsupported, "compound file"},
		{"office with a password", "", string(ole.Show(0xf3d1c4df)), ErrUnsupported, "encrypted"},
		{"office of today with a password", "", string(ole.File(map[string][]byte{"EncryptedPackage": []byte("x")})), ErrUnsupported, "encrypted"},
		{"rtf", "application/rtf", `{\rtf1 `, ErrUnsupported, "RTF"},
		{"office file without text", "", string(ooxml.Docx("<w:p/>", nil)), ErrEmpty, "pictures"},
		{"office bomb", "", string(ooxml.Docx(strings.Repeat("<w:p><w:r><w:t>a long text</w:t></w:r></w:p>", 1_000_000), nil)), ErrTooLarge, "8388608"},
		{"image by type", "image/png", "whatever", ErrUnsupported, "image/png"},
		{"image by bytes", "", "\x89PNG\r\n\x1a\n\x00\x00", ErrUnsupported, "PNG"},
		{"data", "application/json", "{}", ErrUnsupported, "application/json"},
		{"xml", "application/xml", "<rss/>", ErrUnsupported, "application/xml"},
		{"NUL bytes", "text/plain", "abc\x00def", ErrUnsupported, "NUL"},
		{"program", "", "\x7fELF\x02\x01", ErrUnsupported, "ELF"},
		{"control characters", "", "\x01\x02\x03\x04abc", ErrUnsupported, "octet-stream"},
		{"database", "", "SQLite format 3\x00", ErrUnsupported, "SQLite"},
		{"nothing", "text/plain", "", ErrEmpty, "0 bytes"},
		{"white space", "text/markdown", " \n\t\n", ErrEmpty, "white space"},
		{"page without text", "text/html", "<html><body><script>x()</script><img src=a></body></html>", ErrEmpty, "tags"},
		{"too large", "text/plain", strings.Repeat("x", MaxBytes+1), ErrTooLarge, "67108864"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Extract(t.Context(), c.contentType, "", []byte(c.body))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.names) {
				t.Fatalf("got %v, want %v that names %q", err, c.want, c.names)
			}
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), ": ") {
				t.Errorf("not one clear line: %q", err)
			}
		})
	}
}

// One page found at two addresses is one document: what it says does not
// depend on where it lies.
func TestTextDoesNotDependOnItsAddress(t *testing.T) {
	page := []byte(`<html><head><base href="/x/"></head><body><p>` + strings.Repeat("Some words, and more. ", 20) +
		`<a href="a.html">one</a> <a href="//h/b">two</a> <a href="https://example.org/c">three</a></p></body></html>`)
	var first Text
	for i, uri := range []string{"http://a.example/docs/p.html", "https://b.example/", "file:docs/p.html", "", "::bad::"} {
		got, err := Extract(t.Context(), "text/html", uri, page)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = got
		}
		if !bytes.Equal(got.Markdown, first.Markdown) {
			t.Errorf("at %q: %q", uri, got.Markdown)
		}
	}
	if want := "one two [three](https://example.org/c)"; !strings.Contains(string(first.Markdown), want) {
		t.Errorf("links became %q, want %q", first.Markdown, want)
	}
}

func TestCanonicalIsAbsolute(t *testing.T) {
	for _, c := range []struct{ name, uri, head, want string }{
		{"relative", "http://a.example/x/y", `<link rel="canonical" href="z">`, "http://a.example/x/z"},
		{"base", "http://a.example/x/y", `<base href="/b/"><link rel="canonical" href="z">`, "http://a.example/b/z"},
		{"absolute", "file:x", `<link rel="alternate Canonical" href="https://c.example/">`, "https://c.example/"},
		{"open graph", "http://a.example/", `<meta property="og:url" content="https://c.example/o">`, "https://c.example/o"},
		{"link before open graph", "http://a.example/", `<meta property="og:url" content="/o"><link rel=canonical href=/l>`, "http://a.example/l"},
		{"no address of its own", "file:x", `<link rel="canonical" href="z">`, ""},
		{"script", "http://a.example/", `<link rel="canonical" href="javascript:x">`, ""},
		{"bad", "http://a.example/", `<link rel="canonical" href="http://%zz/">`, ""},
		{"none", "http://a.example/", ``, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, body := range []string{"<p>text", strings.Repeat("<div>", 600) + "text"} { // tree and tokens
				got, err := Extract(t.Context(), "text/html", c.uri, []byte("<html><head>"+c.head+"</head><body>"+body))
				if err != nil {
					t.Fatal(err)
				}
				if c.name == "open graph" && got.Extractor == tokensExtractor {
					continue // tokens read links only
				}
				if got.Canonical != c.want {
					t.Errorf("%s: %q, want %q", got.Extractor, got.Canonical, c.want)
				}
			}
		})
	}
}

func TestTitlesAreFound(t *testing.T) {
	long := "<p>" + strings.Repeat("Some words, and more of them. ", 30)
	for _, c := range []struct{ name, page, want string }{
		{"title", "<title>A\n title </title>" + long, "A title"},
		{"open graph", `<meta property="og:title" content="Of graphs">` + long, "Of graphs"},
		{"heading", "<h1>Only a <i>heading</i></h1>" + long, "Only a heading"},
		{"comment", `<!--{"Title": "In a comment"}-->` + long, "In a comment"},
		{"none", long, ""},
		{"tokens", "<title>Deep</title>" + strings.Repeat("<div>", 600) + long, "Deep"},
		{"heading by tokens", strings.Repeat("<div>", 600) + "<h1>Deep <i>down</i></h1>" + long, "Deep down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Extract(t.Context(), "text/html", "", []byte(c.page))
			if err != nil || got.Title != c.want {
				t.Errorf("%q, %v, want %q", got.Title, err, c.want)
			}
		})
	}
}
