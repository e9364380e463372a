package office

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const realFiles = "/work/shared/data/office/"

// fewer says of references which share of their words is in our text at least,
// where it is not nearly all, and why.
var fewer = map[string]struct {
	share float64
	why   string
}{
	"15573.xls.xls2csv":                        {.78, "has the numbers of a chart"},
	"Bug54849.docx.libreoffice":                {.93, "has marks of notes"},
	"BooleanFunctionsTestCaseData.xls.xls2csv": {.92, "has 0 for FALSE, and ERROR"},
	"LogicalFunctionsTestCaseData.xls.xls2csv": {.95, "has 0 for FALSE, and ERROR"},
	"ex45046-21984.xls.xls2csv":                {.51, "has dates"},
	"43781.ppt.catppt":                         {.37, "has names of designs"},
	"45537_Footer.ppt.catppt":                  {.25, "has names of designs, and notes and footers of masters"},
	"54880_chinese.ppt.catppt":                 {0, "has the name of a design alone"},
	"Single_Coloured_Page.ppt.catppt":          {.92, "has the name of a design"},
	"bug55732.ppt.catppt":                      {0, "has the text of a master alone"},
	"bug58159_headers-and-footers.ppt.catppt":  {0, "has the name of a design alone"},
	"bug62591.ppt.catppt":                      {0, "has the name of a design alone"},
	"datetime.ppt.catppt":                      {0, "has the name of a design alone"},
	"Bug41898.doc.antiword":                    {.87, "has [pic]"},
	"Bug46610_2.doc.antiword":                  {0, "cuts its one word in two"},
	"Bug46610_2.doc.catdoc":                    {.81, "takes other bytes for text"},
	"Bug52311.doc.antiword":                    {.75, "has the numbers of a list"},
	"Bug52311.doc.libreoffice":                 {.55, "has the numbers of a list"},
	"simple-list.doc.antiword":                 {.92, "has the numbers of a list"},
	"ThreeColHead.doc.catdoc":                  {.86, "has headers"},
	"hyperlink.doc.catdoc":                     {.60, "has what fields are computed from"},
	"test-fields.doc.antiword":                 {.76, "has headers and marks of notes"},
	"test-fields.doc.catdoc":                   {.54, "has headers and what fields are computed from"},
	"test-fields.doc.libreoffice":              {.91, "has marks of notes"},
	"word95err.doc.antiword":                   {.16, "takes another code page"},
	"word95err.doc.catdoc":                     {.34, "takes another code page"},
	"clusterfuzz-testcase-minimized-POIHWPFFuzzer-6610789829836800.doc.catdoc":      {.82, "has what fields are computed from"},
	"clusterfuzz-testcase-minimized-POIHWPFFuzzer-6610789829836800.doc.libreoffice": {.80, "has what fields are computed from"},
}

// refused are the files that give no text, by the reason.
var refused = map[string]error{
	"password_tika_binaryrc4.doc":                                        ErrEncrypted,
	"clusterfuzz-testcase-minimized-POIHSLFFuzzer-5231088823566336.ppt":  ErrEncrypted,
	"clusterfuzz-testcase-minimized-POIHSLFFuzzer-4630915954114560.ppt":  ErrFormat,
	"clusterfuzz-testcase-minimized-POIHSLFFuzzer-5962760801091584.ppt":  ErrFormat,
	"clusterfuzz-testcase-minimized-POIHSLFFuzzer-6192650357112832.ppt":  ErrFormat,
	"clusterfuzz-testcase-minimized-POIXWPFFuzzer-5569740188549120.docx": ErrFormat,
}

// What LibreOffice, antiword, catdoc, xls2csv and catppt find in the documents
// of Apache POI's tests.
func TestRealDocumentsKeepTheirWords(t *testing.T) {
	refs, _ := filepath.Glob(realFiles + "ref/*.txt")
	if len(refs) == 0 {
		t.Skip("the office data is not here")
	}
	kept, total := 0, 0
	for _, path := range refs {
		ref := strings.TrimSuffix(filepath.Base(path), ".txt")
		name := ref[:strings.LastIndexByte(ref, '.')]
		if refused[name] != nil || strings.HasPrefix(name, "Numbering") {
			continue // of the second the reference has the numbers, which the file has not
		}
		file, err := os.ReadFile(realFiles + name)
		if err != nil {
			t.Logf("skipped %s: %v", name, err)
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]int{}
		for _, w := range word.FindAllString(string(read(t, file).Markdown), -1) {
			have[w]++
		}
		words, found := word.FindAllString(string(text), -1), 0
		for _, w := range words {
			if have[w] > 0 {
				found++
				have[w]--
			}
		}
		want := .97
		if few, ok := fewer[ref]; ok {
			want = few.share
		} else {
			kept, total = kept+found, total+len(words)
		}
		if float64(found) < want*float64(len(words)) {
			t.Errorf("%s: %d of %d words", ref, found, len(words))
		}
	}
	t.Logf("%d of %d words", kept, total)
	if 1000*kept < 997*total {
		t.Errorf("%d of %d words were kept", kept, total)
	}
}

func TestRealDocumentsAreReadOrRefused(t *testing.T) {
	files, _ := filepath.Glob(realFiles + "*.*")
	if len(files) == 0 {
		t.Skip("the office data is not here")
	}
	for _, path := range files {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Read(t.Context(), file)
		name := filepath.Base(path)
		if want := refused[name]; !errors.Is(err, want) || want == nil && (err != nil || d.Kind != strings.TrimPrefix(filepath.Ext(name), ".")) {
			t.Errorf("%s: a %s, %v", name, d.Kind, err)
		}
	}
}
