package crawl

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arborist/ingest"
	"arborist/ingest/extract"
	"arborist/ingest/extract/pdf"
	"arborist/internal/arbtest/ole"
	"arborist/internal/arbtest/ooxml"
	"arborist/internal/arbtest/pdftest"
	"arborist/internal/arbtest/site"
)

func TestDocumentFilesAreKnownByTheirPath(t *testing.T) {
	n := newNotPages()
	for target, want := range map[string]string{
		"/a.pdf": "pdf", "/a.DOCX": "docx", "/a.doc": "doc", "/a.xls": "xls", "/a.xlsx": "xlsx", "/a.ppt": "ppt", "/a.pptx": "pptx",
		"/x/README.md": "md", "/notes.txt": "txt", "/a.rtf?x": "rtf", "/a/robots.txt": "txt",
		"/robots.txt": "", "/pdf": "", "/a.pdf/x": "", "/a?f=b.pdf": "", "/a.pdfx": "", "/": "", "/a.html": "",
	} {
		if got := n.kind(parse(t, "http://h"+target)); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

func TestEveryKindOfDocumentIsExtracted(t *testing.T) {
	text := pdftest.Extract(t)
	for kind, document := range map[string]struct{ contentType, body string }{
		"txt": {"text/plain", "text"}, "md": {"text/markdown", "# Text"}, "pdf": {"application/octet-stream", paper}, "rtf": {"application/rtf", "{\\rtf1 text}"},
		"doc": {"application/msword", letter}, "docx": {"application/octet-stream", report},
	} {
		_, err := text(t.Context(), document.contentType, "http://h/a."+kind, []byte(document.body))
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// report is a file of an office program.
var report = string(ooxml.Docx("<w:p><w:r><w:t>The text of the report.</w:t></w:r></w:p>", nil))

// letter is one of an older such program.
var letter = string(ole.Doc{Paragraphs: []ole.Paragraph{{Text: "The text of the letter.\r"}}}.File())

// paper is a PDF file.
var paper = string(pdftest.File("A paper", "The text of the paper."))

// library links to documents, from the first page and from a deeper one.
func library() *site.Site {
	return site.New(map[string]site.Page{
		"/":            site.Links("home", "/shelf", "/a.pdf", "/b.txt", "https://www.facebook.com/us", "https://elsewhere.example/", "https://notfacebook.com/"),
		"/shelf":       site.Links("shelf", "/deep.md", "/b.txt", "/moved", "/lost.txt", "/report.docx", "/letter.doc"),
		"/moved":       {To: "/landed.txt"},
		"/a.pdf":       {Type: "application/octet-stream", Body: paper},
		"/b.txt":       {Type: "text/plain", Body: "The text of b."},
		"/deep.md":     {Type: "text/markdown", Body: "# Deep\n\nThe text of deep.\n"},
		"/report.docx": {Type: "application/octet-stream", Body: report},
		"/letter.doc":  {Type: "application/octet-stream", Body: letter},
		"/landed.txt":  {Type: "text/plain", Body: "The text of what was moved."},
		"/alone.txt":   {Type: "text/plain", Body: "A seed of text."},
		"/private.txt": {Type: "text/plain", Body: "Nobody links to this."},
	})
}

func TestDocumentsAreLeftOutUnlessAskedFor(t *testing.T) {
	s := library()
	got := fast(t, s, "/", 2)
	equal(t, "pages", got.paths(), []string{"/", "/shelf"})
	reasons := map[string]string{}
	for _, r := range got.report.Refused {
		reasons[r.URL[strings.LastIndexByte(r.URL, '/'):]] = r.Reason
	}
	if want := map[string]string{"/a.pdf": reasonDocument, "/b.txt": reasonDocument, "/deep.md": reasonDocument, "/lost.txt": reasonDocument, "/landed.txt": reasonDocument, "/report.docx": reasonDocument, "/letter.doc": reasonDocument}; !maps.Equal(reasons, want) {
		t.Errorf("refused %v", reasons)
	}
	if r := got.report; !maps.Equal(r.Documents, map[string]int{"pdf": 1, "txt": 3, "md": 1, "docx": 1, "doc": 1}) || r.DocumentPages != 0 || r.OffSite != 3 || r.Social != 1 {
		t.Errorf("%+v", r)
	}
}

func TestDocumentsComeWithThePageThatLinkedToThem(t *testing.T) {
	s := library()
	base := s.Start(t)
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	cfg := Config{Seed: base + "/", Depth: 2, Documents: true, Extract: pdftest.Extract(t)}
	r, stored, err := into(t, t.Context(), p, cfg)
	if err != nil || stored.Documents != 8 {
		t.Fatalf("%+v, %+v, %v", r, stored, err)
	}
	equal(t, "documents", currentURIs(t, p), []string{"/", "/a.pdf", "/b.txt", "/deep.md", "/landed.txt", "/letter.doc", "/report.docx", "/shelf"})
	if !maps.Equal(r.Documents, map[string]int{"pdf": 1, "txt": 3, "md": 1, "docx": 1, "doc": 1}) || r.DocumentPages != 6 {
		t.Errorf("%+v", r)
	}
	for path, parent := range map[string]string{"/a.pdf": "/", "/b.txt": "/", "/deep.md": "/shelf", "/landed.txt": "/shelf", "/report.docx": "/shelf", "/letter.doc": "/shelf", "/shelf": "", "/": ""} {
		about, err := p.About(t.Context(), base+path)
		if want := map[bool]string{true: base + parent}[parent != ""]; err != nil || about.Parent != want {
			t.Errorf("%s was found on %q, want %q, %v", path, about.Parent, want, err)
		}
	}
	// A resumed crawl that has nothing to do says the same of the whole.
	cfg.Resume = true
	again, _, err := into(t, t.Context(), p, cfg)
	if err != nil || !maps.Equal(again.Documents, r.Documents) || again.DocumentPages != 6 {
		t.Errorf("%+v, %v", again, err)
	}
	counts, err := p.Recheck(t.Context(), RecheckConfig{Crawl: Config{Fast: true, AllowNets: loopback, Extract: cfg.Extract}})
	if err != nil || counts[Fresh] != 8 {
		t.Errorf("looked at again: %v, %v", counts, err)
	}
	audit := audited(t, Config{Seed: base + "/", Store: p, AllowNets: loopback})
	var files []string
	for _, f := range audit.Documents {
		if f.Fetched {
			files = append(files, strings.TrimPrefix(f.URL, base)+" on "+strings.TrimPrefix(f.FoundOn, base))
		}
	}
	equal(t, "files", files, []string{"/a.pdf on /", "/b.txt on /", "/deep.md on /shelf", "/landed.txt on /shelf", "/letter.doc on /shelf", "/report.docx on /shelf"})
	if audit.Totals.Documents != 7 {
		t.Errorf("%+v", audit.Documents)
	}
}

// Addresses that say nothing of what they lead to.
func TestDocumentsAreKnownByTheirFirstBytes(t *testing.T) {
	pages := map[string]site.Page{
		"/":        site.Links("home", "/get?n=1", "/get?n=2", "/get?n=3", "/get?n=4", "/get?n=5", "/get?n=6", "/get?n=7"),
		"/get?n=1": {Type: "application/octet-stream", Body: letter},
		"/get?n=2": {Type: "application/vnd.openxmlformats-officedocument.wordprocessingml.document", Body: report},
		"/get?n=3": {Type: "binary/octet-stream", Body: `{\rtf1 The text of the note.}`},
		"/get?n=4": {Type: "application/octet-stream", Body: string(ooxml.Zip(map[string]string{"a.txt": "a"}))},
		"/get?n=5": {Type: "application/json", Body: "{}"},
		"/get?n=6": {Type: "image/png", Body: report},
		"/get?n=7": {Type: "text/html", Body: letter + " "},
	}
	s := site.New(pages)
	base := s.Start(t)
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	if _, stored, err := into(t, t.Context(), p, Config{Seed: base + "/", Depth: 1, Documents: true}); err != nil || stored.Documents != 5 {
		t.Fatalf("%+v, %v", stored, err)
	}
	equal(t, "documents", currentURIs(t, p), []string{"/", "/get?n=1", "/get?n=2", "/get?n=3", "/get?n=7"})
	if counts, err := p.Recheck(t.Context(), RecheckConfig{Crawl: Config{Fast: true, AllowNets: loopback}}); err != nil || counts[Fresh] != 5 {
		t.Errorf("looked at again: %v, %v", counts, err)
	}
	audit := audited(t, Config{Seed: base + "/", Store: p, AllowNets: loopback})
	var files []string
	for _, f := range audit.Documents {
		files = append(files, strings.TrimPrefix(f.URL, base)+" on "+strings.TrimPrefix(f.FoundOn, base))
	}
	equal(t, "files", files, []string{"/get?n=1 on /", "/get?n=2 on /", "/get?n=3 on /", "/get?n=7 on /"})
	equal(t, "without --documents", fast(t, site.New(pages), "/", 1).paths(), []string{"/"})
}

func TestASeedMayBeADocument(t *testing.T) {
	s := library()
	if got := fast(t, s, "/alone.txt", 1); got.err != nil || got.report.Pages != 1 || len(got.report.Documents) != 0 {
		t.Errorf("%+v, %v", got.report, got.err)
	}
	if got := fast(t, s, "/a.pdf", 1); got.err != nil || got.report.Pages != 1 {
		t.Errorf("%+v, %v", got.report, got.err)
	}
}

func TestSocialMediaIsKnownByHost(t *testing.T) {
	for host, want := range map[string]bool{
		"x.com": true, "www.linkedin.com": true, "m.facebook.com": true, "t.co": true,
		"example.com": false, "netflix.com": false, "x.com.example": false, "": false, "com": false,
	} {
		if got := socialMedia(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// That the reader does not start says nothing of a page.
func TestADocumentWhoseReaderDoesNotStartIsStoredByTheNextRun(t *testing.T) {
	s := library()
	base := s.Start(t)
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	broken := pdf.NewReader(pdf.Config{Command: pdf.Command{Path: "/nowhere"}, Cache: t.TempDir()})
	defer broken.Close()
	cfg := Config{Seed: base + "/", Depth: 1, Documents: true, Extract: extract.Extractor{PDF: broken}.Extract}
	_, stored, err := into(t, t.Context(), p, cfg)
	if err != nil || len(stored.Failed) == 0 || !errors.Is(stored.Failed[0].Err, ingest.ErrUnavailable) {
		t.Fatalf("%+v, %v", stored, err)
	}
	cfg.Resume, cfg.Extract = true, pdftest.Extract(t)
	if _, stored, err = into(t, t.Context(), p, cfg); err != nil || stored.Documents != 1 || len(stored.Failed) != 0 {
		t.Errorf("%+v, %v", stored, err)
	}
	if !slices.Contains(currentURIs(t, p), "/a.pdf") {
		t.Errorf("stored %q", currentURIs(t, p))
	}
}
