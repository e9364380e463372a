package document

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goRoot returns the folder of the Go distribution, which is real text that is
// on every machine that can run these tests, or "" with a word in the log.
func goRoot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Logf("real texts are left out, the go command does not say where they are: %v", err)
		return ""
	}
	return strings.TrimSpace(string(out))
}

// sampleTexts returns canonical texts of every kind that chunkers meet.
func sampleTexts(t testing.TB) map[string][]byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the a tree hash of each chunk is kept under its root and peers verify what they get " +
		"because nothing else says that it belongs there: proof, log, index (or not)")
	sentence := func() string {
		var b strings.Builder
		for range 4 + r.IntN(20) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		return strings.TrimSpace(b.String()) + ". "
	}
	var markdown, code, line, cjk strings.Builder
	for i := range 150 {
		markdown.WriteString([]string{"# A\n\n", "## B\n\n", "### C\n", "", "", "- item\n- item\n", "```go\nx := 1\n\n# y\n```\n", "~~~\n``` \n\n~~~\n"}[r.IntN(8)])
		for range 1 + r.IntN(8) {
			s := sentence()
			markdown.WriteString(s + []string{"", "\n"}[r.IntN(2)])
			line.WriteString(s)
			cjk.WriteString(strings.Repeat("文字", 1+r.IntN(30)) + []string{"。", "、", "！", "？ "}[r.IntN(4)])
		}
		markdown.WriteString("\n\n")
		cjk.WriteString([]string{"\n\n", "", "", "\n"}[r.IntN(4)])
		code.WriteString(strings.Repeat("\t", i%5) + "if " + words[i%9] + " {\n" + strings.Repeat("\t", i%5+1) + "return " + words[i%7] + "\n}\n\n"[:3+r.IntN(2)])
	}
	random := make([]byte, 30_000)
	for i := range random {
		random[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[r.IntN(32)]
	}
	texts := map[string]string{
		"markdown": markdown.String(), "code": code.String(), "one line": line.String(), "cjk": cjk.String(),
		"no space": string(random), "one letter": strings.Repeat("x", 9000), "two bytes": strings.Repeat("é", 9000),
		"words": strings.Repeat("lorem ipsum ", 800), "indentation": "a\n" + strings.Repeat(" ", 9000) + "b" + strings.Repeat("\nc", 2000),
		"empty": "", "shortest": "a", "longest chunk": strings.Repeat("x", 1536), "one more": strings.Repeat("x", 1537),
		"headings": strings.Repeat("# Heading\n\n", 900), "marks": strings.Repeat("a. b! c? d.\n", 600), "short lines": strings.Repeat("a\nb\n\n", 2000),
		"open fence": "```\n" + strings.Repeat("code\n\n", 900), "lost fence": strings.Repeat("## H\n\ntext\n\n```\ncode\n\ncode\n", 300),
	}
	canonical := map[string][]byte{}
	for name, text := range texts {
		canonical[name] = Normalize([]byte(text))
	}
	root := goRoot(t)
	for _, name := range []string{"doc/godebug.md", "src/net/http/server.go", "src/unicode/tables.go"} {
		if text, err := os.ReadFile(filepath.Join(root, name)); err == nil {
			canonical[name] = Normalize(text[:min(len(text), 200_000)])
		} else {
			t.Logf("left out: %v", err)
		}
	}
	return canonical
}
