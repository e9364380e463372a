package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/proof"
)

// cosignedProof returns the first valid log-form text proof of the vectors with
// a witness's line in it, the corpus's key and the witness's.
func cosignedProof(t *testing.T) (file, key, witness string) {
	t.Helper()
	b, err := os.ReadFile("../../docs/vectors/proof.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Vectors []struct {
			Input, Key string
			Valid      bool
			Text       *string
		}
	}
	if err := json.Unmarshal(b, &vectors); err != nil {
		t.Fatal(err)
	}
	w, err := proof.NewCosignSigner("w", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors.Vectors {
		if !v.Valid || v.Key == "" || v.Text != nil {
			continue
		}
		p, err := proof.Parse([]byte(v.Input))
		if err != nil || p.Log == nil {
			continue
		}
		if p.Log.Note, err = w.Cosign(p.Log.Note, time.Unix(1700000000, 0)); err != nil {
			t.Fatal(err)
		}
		text, err := p.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		return string(text), v.Key, w.Cosigner().String()
	}
	t.Fatal("no vector will do")
	return "", "", ""
}

func TestWitnessFlags(t *testing.T) {
	file, key, witness := cosignedProof(t)
	other, err := proof.NewCosignSigner("other", [32]byte{2})
	if err != nil {
		t.Fatal(err)
	}
	stranger := other.Cosigner().String()
	name := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := proof.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	b, err := proof.NewBundle([]*proof.Proof{p})
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := b.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	bundled := filepath.Join(t.TempDir(), "b")
	if err := os.WriteFile(bundled, bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		args []string
		exit int
		want string // in the output
	}{
		{"cosigned", []string{"--key", key, "--witness", witness}, 0, `"cosignatures":[{"name":"w","time":"2023-11-14T22:13:20Z"}],"other_signatures":0`},
		{"nobody named", []string{"--key", key}, 0, `"cosignatures":[],"other_signatures":1`},
		{"one of two", []string{"--key", key, "--witness", witness, "--witness", stranger, "--quorum", "1"}, 0, "cosigned by 1 of 2 witnesses"},
		{"both of two", []string{"--key", key, "--witness", witness, "--witness", stranger}, 4, `"reason":"not_cosigned"`},
		{"another", []string{"--key", key, "--witness", stranger}, 4, `"reason":"not_cosigned"`},
		{"no key", []string{"--witness", witness}, 2, "--witness without --key"},
		{"the corpus's key as witness", []string{"--key", key, "--witness", key}, 2, "want that of a witness"},
		{"the witness's key as corpus", []string{"--key", witness}, 2, "want that of a corpus"},
		{"quorum too high", []string{"--key", key, "--witness", witness, "--quorum", "2"}, 2, "quorum of 2"},
		{"quorum of none", []string{"--key", key, "--quorum", "1"}, 2, "quorum of 1"},
		{"quorum 0", []string{"--key", key, "--witness", witness, "--quorum", "0"}, 2, "not a number from 1"},
		{"quorum spelled twice", []string{"--key", key, "--witness", witness, "--quorum", "01"}, 2, "not a number from 1"},
		{"empty witness", []string{"--key", key, "--witness", ""}, 2, "it is empty"},
	} {
		for _, name := range []string{name, bundled} {
			var out, errs bytes.Buffer
			exit := Main(append(row.args, "--json", name), strings.NewReader(""), &out, &errs)
			if exit != row.exit || !strings.Contains(out.String(), row.want) {
				t.Errorf("%s, %s: exit %d, %s%s; want %d and %q", row.name, filepath.Base(name), exit, out.String(), errs.String(), row.exit, row.want)
			}
		}
	}
	var out, errs bytes.Buffer
	if exit := Main([]string{"--key", key, "--witness", witness, name}, nil, &out, &errs); exit != 0 || !strings.Contains(out.String(), "cosigned 2023-11-14T22:13:20Z, by w") {
		t.Errorf("for a person: %d, %s%s", exit, out.String(), errs.String())
	}
}
