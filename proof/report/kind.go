package report

import (
	"bytes"
	"fmt"
	"strings"

	"arborist/proof"
)

// wrongKind gives the error of a file its next step where the file is of another
// kind than want: one of "proof", "evidence", "rotations" and "passage".
func wrongKind(err error, want string, file []byte) error {
	if err == nil {
		return nil
	}
	starts := func(prefix string) bool {
		return bytes.HasPrefix(file, []byte(prefix)) || bytes.HasPrefix(file, []byte(`{"format":"`+prefix))
	}
	kind, hint := "", ""
	switch {
	case proof.IsBundle(file):
		kind, hint = "bundle", "this is a bundle: name it as FILE, without an option"
	case starts("arborist-proof/"):
		kind, hint = "proof", "this is a proof: name it as FILE, without an option"
	case starts("arborist-evidence/"):
		kind, hint = "evidence", "this is an evidence file: pass it with --evidence FILE and --key VKEY, without a proof"
	case starts("arborist-key-rotation/"):
		kind, hint = "rotations", "this is a rotations file: pass it with --rotations FILE and --key VKEY, beside a proof"
	}
	if kind == "" || kind == want {
		return err
	}
	return &hinted{err, hint}
}

// lineEnds gives the error of a passage that was given apart its next step where
// the passage verifies with other line ends: with CRLF for LF, or with more or
// fewer at its end, which editors and shells change unasked. It stays an error:
// the passage is not, byte for byte, what was proven.
func lineEnds(err error, text []byte, verify func([]byte) error) error {
	const most = 3 // line ends at the end of a passage
	lf := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	body := bytes.TrimRight(lf, "\n")
	has := len(lf) - len(body)
	for n := range most + 1 {
		if len(body) == 0 || verify(append(bytes.Clone(body), strings.Repeat("\n", n)...)) != nil {
			continue
		}
		var how []string
		if len(lf) != len(text) {
			how = append(how, "with LF in place of CRLF")
		}
		if n != has {
			how = append(how, fmt.Sprintf("with %d line ends at its end, not %d", n, has))
		}
		return &hinted{err, "the passage verifies " + strings.Join(how, " and ") + ": only its line ends were changed; pass it byte for byte as it was proven"}
	}
	return err
}
