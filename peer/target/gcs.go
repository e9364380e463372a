package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"arborist/peer"
)

const (
	googleStorage = "https://storage.googleapis.com"
	// gcsBuffer is how much of an object is kept in memory, so that it can be sent
	// again. What is larger is sent once: the next publish goes on there.
	gcsBuffer = 16 << 20
	gcsTries  = 4
	// gcsReply is the most of a reply that is read, but for the content of objects.
	gcsReply = 64 << 10
)

// A GCS is a bucket of Google Cloud Storage, or the names below a prefix of one, by
// its JSON interface. A name gets its object whole when the upload is complete.
type GCS struct {
	http   *http.Client
	base   string // URL of the service
	tokens *tokens
	bucket string
	prefix string
	pause  time.Duration // before the second try; doubles
}

var _ peer.Target = (*GCS)(nil)

// OpenGCS opens what gs://BUCKET/PREFIX names. Who asks stands where Google's own
// tools look: in the file that GOOGLE_APPLICATION_CREDENTIALS names, or in the one
// that `gcloud auth application-default login` writes. With STORAGE_EMULATOR_HOST
// an emulator is asked, and nobody is named.
func OpenGCS(address string) (*GCS, error) {
	bucket, prefix, err := splitBucket(address, "gs")
	if err != nil {
		return nil, err
	}
	g := &GCS{http: &http.Client{CheckRedirect: noRedirect}, base: googleStorage, bucket: bucket, prefix: prefix, pause: time.Second}
	if host := os.Getenv("STORAGE_EMULATOR_HOST"); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		u, err := url.Parse(host)
		if err != nil || u.Host == "" || u.User != nil {
			return nil, errors.New("STORAGE_EMULATOR_HOST is not the address of a service")
		}
		g.base = u.Scheme + "://" + u.Host
		return g, nil
	}
	if g.tokens, err = googleTokens(g.http); err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	return g, nil
}

// noRedirect: a name stands where it is asked for.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close implements [io.Closer].
func (g *GCS) Close() error { g.http.CloseIdleConnections(); return nil }

func (g *GCS) key(name string) string { return path.Join(g.prefix, name) }

// object returns the URL of an object.
func (g *GCS) object(name string) string {
	return g.base + "/storage/v1/b/" + url.PathEscape(g.bucket) + "/o/" + url.PathEscape(g.key(name))
}

// fail names what was asked for.
func (g *GCS) fail(what, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s of bucket %s: %w", what, g.key(name), g.bucket, err)
}

// Size implements [peer.Target].
func (g *GCS) Size(ctx context.Context, name string) (int64, error) {
	var info objectInfo
	err := g.ask(ctx, func() (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, g.object(name)+"?fields=size", nil)
	}, func(body io.Reader) error { return info.read(body) })
	return info.Size, g.fail("look at", name, err)
}

// Get implements [peer.Target].
func (g *GCS) Get(ctx context.Context, name string, limit int64) (content []byte, err error) {
	err = g.ask(ctx, func() (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, g.object(name)+"?alt=media", nil)
	}, func(body io.Reader) error { content, err = readAll(body, name, limit); return err })
	return content, g.fail("read", name, err)
}

// Put implements [peer.Target].
func (g *GCS) Put(ctx context.Context, name string, f peer.TargetFile, content io.Reader) error {
	body := content
	var again []byte
	if f.Size <= gcsBuffer {
		b, err := io.ReadAll(io.LimitReader(content, f.Size+1))
		if err == nil && int64(len(b)) != f.Size {
			err = fmt.Errorf("%d bytes, want %d", len(b), f.Size)
		}
		if err != nil {
			return g.fail("write", name, err)
		}
		again = b
	}
	head, tail, boundary, err := g.envelope(name, f)
	if err != nil {
		return g.fail("write", name, err)
	}
	var info objectInfo
	sent := false
	err = g.ask(ctx, func() (*http.Request, error) {
		if again != nil {
			body = bytes.NewReader(again)
		} else if sent {
			return nil, errors.New("it is too large to be sent again: publish again")
		}
		sent = true
		req, err := http.NewRequestWithContext(ctx, http.MethodPost,
			g.base+"/upload/storage/v1/b/"+url.PathEscape(g.bucket)+"/o?uploadType=multipart&fields=size",
			io.MultiReader(bytes.NewReader(head), io.LimitReader(body, f.Size), bytes.NewReader(tail)))
		if err != nil {
			return nil, err
		}
		req.ContentLength = int64(len(head)) + f.Size + int64(len(tail))
		req.Header.Set("Content-Type", "multipart/related; boundary="+boundary)
		return req, nil
	}, func(reply io.Reader) error { return info.read(reply) })
	if err == nil && info.Size != f.Size {
		err = fmt.Errorf("%d bytes arrived, want %d", info.Size, f.Size)
	}
	return g.fail("write", name, err)
}

// envelope returns what goes before and behind the content of an upload.
func (g *GCS) envelope(name string, f peer.TargetFile) (head, tail []byte, boundary string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	about, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/json; charset=UTF-8"}})
	if err == nil {
		err = json.NewEncoder(about).Encode(map[string]string{"name": g.key(name), "contentType": f.Type, "cacheControl": cacheControl(f)})
	}
	if err == nil {
		_, err = w.CreatePart(textproto.MIMEHeader{"Content-Type": {f.Type}})
	}
	head = bytes.Clone(b.Bytes())
	err = errors.Join(err, w.Close())
	return head, b.Bytes()[len(head):], w.Boundary(), err
}

// An objectInfo is what a reply says of an object.
type objectInfo struct{ Size int64 }

func (o *objectInfo) read(body io.Reader) error {
	var said struct {
		Size string `json:"size"`
	}
	if err := json.NewDecoder(io.LimitReader(body, gcsReply)).Decode(&said); err != nil {
		return fmt.Errorf("the reply is no object's: %w", err)
	}
	var err error
	o.Size, err = strconv.ParseInt(said.Size, 10, 64)
	return err
}

// ask sends a request, again where the service asks for that, and has read read the
// reply. What is not there is [fs.ErrNotExist].
func (g *GCS) ask(ctx context.Context, request func() (*http.Request, error), read func(io.Reader) error) error {
	var last error
	for try, pause := 1, g.pause; ; try, pause = try+1, 2*pause {
		req, err := request()
		if err != nil {
			return errors.Join(last, err)
		}
		again, err := g.once(req, read)
		if last = err; !again || try == gcsTries {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (g *GCS) once(req *http.Request, read func(io.Reader) error) (again bool, err error) {
	if g.tokens != nil {
		token, err := g.tokens.get(req.Context())
		if err != nil {
			return false, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := g.http.Do(req)
	if err != nil {
		return req.Context().Err() == nil, err
	}
	defer res.Body.Close()
	switch code := res.StatusCode; {
	case code == http.StatusOK:
		return false, read(res.Body)
	case code == http.StatusNotFound:
		return false, fmt.Errorf("%w: no such object or bucket", fs.ErrNotExist)
	case code == http.StatusTooManyRequests || code >= 500:
		return true, fmt.Errorf("the service answers with status %d", code)
	default:
		return false, fmt.Errorf("the service answers with status %d", code)
	}
}
