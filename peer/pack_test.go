package peer

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"arborist/document"
	"arborist/proof"
)

func TestElementsAreReadBackAndNothingElse(t *testing.T) {
	small, large := entryOf(t, "x", "a small text").Document, entryOf(t, "y", textOf("y", 3<<20)).Document
	var pack []byte
	for _, d := range []*document.Document{small, large, small} {
		pack = append(appendElementHead(pack, d.Header()), d.Text()...)
	}
	pack = append(pack, 0, 0)
	if got, want := int64(len(pack)-2), 2*elementSize(small.Header())+elementSize(large.Header()); got != want {
		t.Errorf("the elements have %d bytes, elementSize says %d", got, want)
	}
	p := &packReader{r: bytes.NewReader(pack)}
	if text, _, err := p.next(small.Header()); err != nil || !bytes.Equal(text, small.Text()) {
		t.Errorf("first element = %.30q, %v", text, err)
	}
	if text, _, err := p.next(large.Header()); err != nil || !bytes.Equal(text, large.Text()) {
		t.Errorf("second element: %d bytes, %v", len(text), err)
	}
	if err := p.skip(small.Header()); err != nil {
		t.Errorf("skip = %v", err)
	}
	if _, _, err := p.next(large.Header()); !errors.Is(err, ErrMissing) {
		t.Errorf("absent element = %v, want ErrMissing", err)
	}
	if err := p.end(); err != nil {
		t.Errorf("end = %v", err)
	}
	// Every cut is noticed.
	for _, n := range []int{0, 1, 2, 30, 100, int(elementSize(small.Header())) - 1} {
		p := &packReader{r: bytes.NewReader(pack[:n])}
		if _, _, err := p.next(small.Header()); !errors.Is(err, ErrTruncated) {
			t.Errorf("cut after %d bytes = %v, want ErrTruncated", n, err)
		}
		p = &packReader{r: bytes.NewReader(pack[:n])}
		if err := p.skip(small.Header()); !errors.Is(err, ErrTruncated) {
			t.Errorf("skip, cut after %d bytes = %v, want ErrTruncated", n, err)
		}
	}
	// So is every change of what stands before the text.
	for i := range int(elementSize(small.Header())) - len(small.Text()) {
		bad := bytes.Clone(pack)
		bad[i] ^= 0x40
		if _, _, err := (&packReader{r: bytes.NewReader(bad)}).next(small.Header()); !errors.Is(err, ErrTampered) {
			t.Errorf("byte %d changed = %v, want ErrTampered", i, err)
		}
	}
	p = &packReader{r: strings.NewReader("x")}
	if err := p.end(); !errors.Is(err, ErrMalformed) {
		t.Errorf("end before the end = %v, want ErrMalformed", err)
	}
}

func FuzzPacksGiveOnlyWhatWasAskedFor(f *testing.F) {
	d, err := document.New([]byte("The text of a document."))
	if err != nil {
		f.Fatal(err)
	}
	good := append(appendElementHead(nil, d.Header()), d.Text()...)
	f.Add(good)
	f.Add([]byte{0, 0})
	f.Add([]byte{0xff, 0xff, 1})
	f.Add(good[:len(good)-3])
	f.Add(bytes.Replace(good, []byte("chunks 1"), []byte("chunks 9"), 1))
	f.Fuzz(func(t *testing.T, pack []byte) {
		text, _, err := (&packReader{r: bytes.NewReader(pack)}).next(d.Header())
		if err != nil {
			return
		}
		if uint64(len(text)) != d.Header().Bytes {
			t.Errorf("a text of %d bytes was read, the header says %d", len(text), d.Header().Bytes)
		}
		if !bytes.HasPrefix(pack, appendElementHead(nil, d.Header())) {
			t.Error("an element of another document was read")
		}
	})
}

func FuzzBundlesSplitInOneWay(f *testing.F) {
	f.Add([]byte("\x00\x01a\x00\x02bc"), 2)
	f.Add([]byte("\x00\x00"), 1)
	f.Add([]byte("\xff\xff"), 1)
	f.Add([]byte{}, 0)
	f.Add([]byte("\x00\x01a\x00"), 1)
	f.Fuzz(func(t *testing.T, raw []byte, n int) {
		if n < 0 || n > tileWidth {
			return
		}
		lines, err := splitBundle(raw, n)
		if err != nil {
			return
		}
		var again []byte
		for _, line := range lines {
			if len(line) > maxRecord {
				t.Errorf("a line of %d bytes", len(line))
			}
			again = append(again, byte(len(line)>>8), byte(len(line)))
			again = append(again, line...)
		}
		if len(lines) != n || !bytes.Equal(again, raw) {
			t.Errorf("%d lines that give %q, want %d that give %q", len(lines), again, n, raw)
		}
	})
}

func statementFixture(t testing.TB) (identity, CorpusID, []byte, *proof.Verifier) {
	t.Helper()
	id, err := loadIdentity(t.TempDir() + "/key")
	if err != nil {
		t.Fatal(err)
	}
	corpus := CorpusID{publisher: id.id, name: "main"}
	signer, err := proof.NewSigner(corpus.String(), [32]byte{5})
	if err != nil {
		t.Fatal(err)
	}
	text, err := id.statement(signer.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	return id, corpus, text, signer.Verifier()
}

func TestStatementsHaveOneSpelling(t *testing.T) {
	id, corpus, text, v := statementFixture(t)
	got, err := openStatement(text, corpus)
	if err != nil || got.String() != v.String() {
		t.Fatalf("openStatement = %v, %v, want %s", got, err, v)
	}
	if again, err := id.statement(v); err != nil || !bytes.Equal(again, text) {
		t.Errorf("a second statement differs: %v", err)
	}
	// Every single byte matters, and so does the end.
	for i := range text {
		for _, bit := range []byte{1, 0x20, 0x80} {
			bad := bytes.Clone(text)
			bad[i] ^= bit
			if _, err := openStatement(bad, corpus); err == nil {
				t.Errorf("the statement with byte %d changed by %#x was accepted", i, bit)
			}
		}
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "a line more": append(bytes.Clone(text), '\n'), "no last line end": text[:len(text)-1],
		"CRLF": bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), "huge": bytes.Repeat(text, 100),
		"space": bytes.Replace(text, []byte("key "), []byte("key  "), 1),
	} {
		if _, err := openStatement(bad, corpus); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAStatementNamesTheKeyOfItsCorpus(t *testing.T) {
	id, corpus, _, _ := statementFixture(t)
	for _, name := range []string{corpus.Publisher() + "/other", testPeer + "/main", "main"} {
		signer, err := proof.NewSigner(name, [32]byte{6})
		if err != nil {
			t.Fatal(err)
		}
		body := statementBody(corpus, signer.Verifier().String())
		sig := base64.StdEncoding.EncodeToString(ed25519.Sign(id.key, body))
		if _, err := openStatement(fmt.Appendf(body, "signature %s\n", sig), corpus); !errors.Is(err, ErrKey) {
			t.Errorf("a statement for %s with the key of %s = %v, want ErrKey", corpus, name, err)
		}
	}
	// Signed, but no key at all.
	body := statementBody(corpus, "not a key")
	sig := base64.StdEncoding.EncodeToString(ed25519.Sign(id.key, body))
	if _, err := openStatement(fmt.Appendf(body, "signature %s\n", sig), corpus); !errors.Is(err, ErrMalformed) {
		t.Errorf("a statement without a key = %v, want ErrMalformed", err)
	}
}

func FuzzStatementsThatOpenAreTheSignedOne(f *testing.F) {
	_, corpus, text, _ := statementFixture(f)
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add([]byte(statementVersion + "\norigin x/y\nkey z\nsignature AAAA\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := openStatement(b, corpus); err == nil && !bytes.Equal(b, text) {
			t.Errorf("another statement than the signed one was accepted: %q", b)
		}
	})
}

func TestOriginsHaveOneSpelling(t *testing.T) {
	good, err := ParseCorpusID(testPeer + "/main")
	if err != nil || good.String() != testPeer+"/main" || good.Publisher() != testPeer || good.Name() != "main" {
		t.Errorf("ParseCorpusID = %+v, %v", good, err)
	}
	for _, bad := range []string{
		"", "/", testPeer, testPeer + "/", "/main", testPeer + "/a/b", testPeer + "/.x", testPeer + "/..", testPeer + "/a b", testPeer + "/a+b",
		" " + testPeer + "/main", "bafzaajaiaejcb" + testPeer + "/main", strings.ToLower(testPeer) + "/main", testPeer + "/" + strings.Repeat("n", 65),
		"1AhX/main", "QmcgpsyWgH8Y8ajJz1Cu72KnS5uo2Aa2LpzU7kinSupNKC/main", strings.Repeat("1", 5000) + "/main",
	} {
		if id, err := ParseCorpusID(bad); err == nil {
			t.Errorf("ParseCorpusID(%.80q) = %s, want an error", bad, id)
		}
	}
}
