package target

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"arborist/peer"
)

// A fakeGCS speaks as much of Google Cloud Storage as we do: objects by its JSON
// interface, and read by everybody at /BUCKET/NAME.
type fakeGCS struct {
	t   *testing.T
	key *rsa.PublicKey // nil: everybody may write

	mu      sync.Mutex
	objects map[string][]byte
	headers map[string]string // cache control by name
	busy    int               // requests that are answered with 503 first
	lose    bool              // the last byte of what is written
	signed  int               // tokens given
}

func newFakeGCS(t *testing.T) (*fakeGCS, string) {
	g := &fakeGCS{t: t, objects: map[string][]byte{}, headers: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /storage/v1/b/corpora/o/{name}", g.object)
	mux.HandleFunc("POST /upload/storage/v1/b/corpora/o", g.upload)
	mux.HandleFunc("POST /token", g.sign)
	mux.HandleFunc("GET /corpora/{name...}", func(w http.ResponseWriter, r *http.Request) { g.send(w, r.PathValue("name")) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		api := strings.Contains(r.URL.Path, "/storage/v1/")
		switch {
		case api && g.busy > 0:
			g.busy--
			w.WriteHeader(http.StatusServiceUnavailable)
		case api && g.key != nil && r.Header.Get("Authorization") != "Bearer a-token":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return g, s.URL
}

func (g *fakeGCS) send(w http.ResponseWriter, name string) {
	content, ok := g.objects[name]
	if !ok {
		http.Error(w, "No such object", http.StatusNotFound)
		return
	}
	w.Write(content)
}

func (g *fakeGCS) object(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if content, ok := g.objects[name]; ok && r.URL.Query().Get("alt") != "media" {
		fmt.Fprintf(w, `{"size":"%d"}`, len(content))
		return
	}
	g.send(w, name)
}

func (g *fakeGCS) upload(w http.ResponseWriter, r *http.Request) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	parts := multipart.NewReader(r.Body, params["boundary"])
	about, err2 := parts.NextPart()
	if err != nil || err2 != nil || r.ContentLength < 0 {
		http.Error(w, "not multipart", http.StatusBadRequest)
		return
	}
	var meta struct{ Name, ContentType, CacheControl string }
	if err := json.NewDecoder(about).Decode(&meta); err != nil || meta.Name == "" || meta.ContentType == "" {
		http.Error(w, "no metadata", http.StatusBadRequest)
		return
	}
	media, err := parts.NextPart()
	var content []byte
	if err == nil {
		content, err = io.ReadAll(media)
	}
	if _, end := parts.NextPart(); err != nil || !errors.Is(end, io.EOF) {
		http.Error(w, "cut", http.StatusBadRequest)
		return
	}
	if g.lose {
		content = content[:len(content)-1]
	}
	g.objects[meta.Name], g.headers[meta.Name] = content, meta.CacheControl
	fmt.Fprintf(w, `{"size":"%d"}`, len(content))
}

// sign gives a token for a claim that the key has signed.
func (g *fakeGCS) sign(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	signed, sig, _ := cutLast(r.Form.Get("assertion"), ".")
	raw, err := base64.RawURLEncoding.DecodeString(sig)
	sum := sha256.Sum256([]byte(signed))
	if err == nil {
		err = rsa.VerifyPKCS1v15(g.key, crypto.SHA256, sum[:], raw)
	}
	if err != nil || r.Form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	g.signed++
	io.WriteString(w, `{"access_token":"a-token","expires_in":3600}`)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func openGCS(t *testing.T, address string) *GCS {
	t.Helper()
	g, err := OpenGCS(address)
	if err != nil {
		t.Fatal(err)
	}
	g.pause = 0
	t.Cleanup(func() { g.Close() })
	return g
}

func TestACorpusInAGoogleBucketIsFollowedOverHTTP(t *testing.T) {
	fake, url := newFakeGCS(t)
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(url, "http://"))
	h := newHome(t)
	h.add("a", 300)
	b := openGCS(t, "gs://corpora/some/where/")
	fake.busy = 2
	if res := h.publish(b, true); res.Before != 0 || res.Size != 300 {
		t.Errorf("publish = %+v", res)
	}
	wantFollowedFrom(t, h, b, url)
	at := "some/where/arborist/v1/" + h.origin()
	if got := fake.headers[at+"/checkpoint"]; got != "no-cache" {
		t.Errorf("the checkpoint's cache control is %q", got)
	}
	if got := fake.headers[at+"/tile/0/000"]; !strings.HasSuffix(got, "immutable") {
		t.Errorf("a tile's cache control is %q", got)
	}
	if _, err := b.Size(t.Context(), "nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there = %v", err)
	}
	if _, err := b.Get(t.Context(), "arborist/v1/corpora", 10); err == nil {
		t.Error("more than the limit was read")
	}
}

func TestAnObjectIsWholeOrAnError(t *testing.T) {
	fake, url := newFakeGCS(t)
	t.Setenv("STORAGE_EMULATOR_HOST", url)
	b := openGCS(t, "gs://corpora")
	put := func(size int64, content io.Reader) error {
		return b.Put(t.Context(), "x", peer.TargetFile{Size: size, Type: "text/plain"}, content)
	}
	if err := put(3, strings.NewReader("ab")); err == nil {
		t.Error("less than was said was written")
	}
	if err := put(3, strings.NewReader("abcd")); err == nil {
		t.Error("more than was said was written")
	}
	if err := put(gcsBuffer+9, io.LimitReader(zeros{}, gcsBuffer)); err == nil || len(fake.objects) > 0 {
		t.Errorf("less than was said of a large one: %v, %d objects", err, len(fake.objects))
	}
	if err := put(gcsBuffer+9, zeros{}); err != nil || len(fake.objects["x"]) != gcsBuffer+9 {
		t.Errorf("a large one: %v, %d bytes", err, len(fake.objects["x"]))
	}
	fake.busy = 1
	if err := put(gcsBuffer+9, zeros{}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a large one is sent again from its middle: %v", err)
	}
	fake.busy = gcsTries
	if err := put(1, strings.NewReader("x")); err == nil {
		t.Error("a service that stays busy takes an object")
	}
	fake.lose = true
	if err := put(3, strings.NewReader("abc")); err == nil {
		t.Error("a byte was lost and nobody said so")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAServiceAccountSignsIn(t *testing.T) {
	fake, url := newFakeGCS(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	fake.key = &key.PublicKey
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	account := map[string]string{
		"type": "service_account", "client_email": "me@example.org", "private_key_id": "1", "token_uri": url + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}
	file := filepath.Join(t.TempDir(), "key.json")
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	write := func(change func(map[string]string)) {
		changed := map[string]string{}
		for k, v := range account {
			changed[k] = v
		}
		change(changed)
		b, err := json.Marshal(changed)
		if err == nil {
			err = os.WriteFile(file, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(func(map[string]string) {})
	b := openGCS(t, "gs://corpora/x")
	b.base = url
	for range 3 {
		if err := b.Put(t.Context(), "a", peer.TargetFile{Size: 1, Type: "text/plain"}, bytes.NewReader([]byte("a"))); err != nil {
			t.Fatal(err)
		}
	}
	if fake.signed != 1 {
		t.Errorf("signed in %d times for three objects", fake.signed)
	}
	secret := account["private_key"][100:140]
	for name, change := range map[string]func(map[string]string){
		"no key":        func(m map[string]string) { m["private_key"] = secret },
		"another type":  func(m map[string]string) { m["type"] = "x" },
		"plain http":    func(m map[string]string) { m["token_uri"] = "http://example.org/token" },
		"nothing at it": func(m map[string]string) { clear(m) },
	} {
		write(change)
		if _, err := OpenGCS("gs://corpora"); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, address := range []string{"gs://", "gs:///x", "gs://a@b/x", "gs://corpora/../x", "s3://corpora"} {
		if _, err := OpenGCS(address); err == nil {
			t.Errorf("%s was opened", address)
		}
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	fake.key, b.tokens.token, b.tokens.until = &other.PublicKey, "", b.tokens.until.AddDate(-1, 0, 0)
	if _, err := b.Size(t.Context(), "a"); err == nil || strings.Contains(err.Error(), "assertion") {
		t.Errorf("a key that is not accepted: %v", err)
	}
}
