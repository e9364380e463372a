package pdf_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"arborist/ingest/extract/pdf"
	"arborist/internal/arbtest/pdftest"
)

const shared = "/work/shared/data/pdf/"

// files gives the contents of a folder of the shared data by their names.
func files(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	paths, _ := filepath.Glob(shared + folder + "*.pdf")
	if len(paths) == 0 {
		t.Skip(shared + folder + " is not here")
	}
	byName := map[string][]byte{}
	for _, p := range paths {
		body, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		byName[strings.TrimSuffix(filepath.Base(p), ".pdf")] = body
	}
	return byName
}

// words counts the words of a text; a character of a script without spaces is
// one.
func words(text string) map[string]int {
	count := map[string]int{}
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		word := ""
		for _, r := range field {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
				count[string(r)]++
			} else {
				word += string(unicode.ToLower(r))
			}
		}
		if word != "" {
			count[word]++
		}
	}
	return count
}

// overlap is what two texts share of their words, from 0 to 1.
func overlap(a, b map[string]int) float64 {
	both, all := 0, 0
	for w, n := range a {
		both += min(n, b[w])
		all += n
	}
	for _, n := range b {
		all += n
	}
	return 2 * float64(both) / float64(max(1, all))
}

// Forms: the references of pdfium lack what forms are filled in with, and leave
// divided words apart; poppler does not open one file, and does not show two
// of the filled fields of another.
func TestRealFilesAreReadAsByOtherPrograms(t *testing.T) {
	least := map[string]float64{"chineseSimple": .91}
	titles := map[string]string{
		"aipsamp": "Sample title", "debmake-doc.ja": "Debian メンテナー用ガイド", "sample-sigconf": "The Name of the Title Is Hope",
		"apssamp": "Manuscript Title:", "mpfr": "GNU MPFR", "ipfs.paper.draft3": "IPFS - Content Addressed, Versioned, P2P File System",
	}
	r := pdftest.Reader(t)
	for name, body := range files(t, "") {
		doc, err := r.Read(t.Context(), body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		best := 0.0
		for _, program := range []string{"pdfium", "poppler"} {
			ref, err := os.ReadFile(shared + "ref/" + name + "." + program + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			best = max(best, overlap(words(string(doc.Text)), words(string(ref))))
		}
		want := .97
		if w, ok := least[name]; ok {
			want = w
		}
		if best < want {
			t.Errorf("%s: %.3f of the words, want %.2f", name, best, want)
		}
		if title, ok := titles[name]; ok && doc.Title != title {
			t.Errorf("%s: title %q, want %q", name, doc.Title, title)
		}
	}
}

func TestFormsAreReadAsTheyAreFilledIn(t *testing.T) {
	r := pdftest.Reader(t)
	for name, want := range map[string][]string{"english": {"31.12.1999", "San Francisco"}, "person": {"Earth"}} {
		doc, err := r.Read(t.Context(), files(t, "")[name])
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(doc.Text), w) {
				t.Errorf("%s: no %q in %s", name, w, doc.Text)
			}
		}
	}
}

func TestHostileFilesAreErrorsOrText(t *testing.T) {
	want := map[string]error{
		"bomb_1g_spaces": pdf.ErrLimit, "bomb_double": pdf.ErrLimit, "text_3M_ops": pdf.ErrLimit, "xobj_billion": pdf.ErrLimit, "xobj_recursion": pdf.ErrLimit,
		"count_lie": nil, "deep_array": nil, "deep_content": nil, "enc_owner128": nil, "enc_ownernoextract": nil,
		"empty": pdf.ErrFormat, "flip300": pdf.ErrFormat, "notpdf": pdf.ErrFormat, "pagetree_cycle": pdf.ErrFormat, "trunc_1k": pdf.ErrFormat,
		"enc_user": pdf.ErrEncrypted,
	}
	r := pdftest.Reader(t)
	bad := files(t, "bad/")
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		doc, err := r.Read(t.Context(), bad[name])
		if !errors.Is(err, want[name]) {
			t.Errorf("%s: %v, want %v", name, err, want[name])
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%s: not one line: %q", name, err)
		}
		if strings.HasPrefix(name, "enc_owner") && !strings.Contains(string(doc.Text), "prune") {
			t.Errorf("%s: %q", name, doc.Text)
		}
	}
	// And after all of them a sound one is what it was.
	doc, err := r.Read(t.Context(), pdftest.File("Sound", "The text of a sound file."))
	if err != nil || string(doc.Text) != "The text of a sound file." || doc.Title != "Sound" || doc.Pages != 1 {
		t.Errorf("%+v, %v", doc, err)
	}
}
