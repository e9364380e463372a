package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"arborist/peer"
)

// A Bucket is a bucket, or the names below a prefix of one, of Amazon S3 or of
// anything that speaks its protocol. A name gets its object whole when the
// upload is complete.
type Bucket struct {
	client *minio.Client
	bucket string
	prefix string
}

var _ peer.Target = (*Bucket)(nil)

// OpenS3 opens what s3://BUCKET/PREFIX names. Where it is, and who asks, stands
// where all tools for S3 look: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL (default:
// Amazon), AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY with
// AWS_SESSION_TOKEN, or ~/.aws/credentials with AWS_PROFILE.
func OpenS3(ctx context.Context, address string) (*Bucket, error) {
	bucket, prefix, err := splitBucket(address, "s3")
	if err != nil {
		return nil, err
	}
	endpoint, err := s3Endpoint()
	if err != nil {
		return nil, err
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}),
		Secure: endpoint.Scheme == "https",
		Region: os.Getenv("AWS_REGION"),
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	b := &Bucket{client: client, bucket: bucket, prefix: prefix}
	there, err := client.BucketExists(ctx, bucket)
	if err == nil && !there {
		err = fmt.Errorf("%w: no such bucket", fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	return b, nil
}

// s3Endpoint returns the URL of the service. Plain HTTP is spoken only where
// the environment says so.
func s3Endpoint() (*url.URL, error) {
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fmt.Errorf("%s is not the http(s) URL of a service", name)
		}
		return u, nil
	}
	return &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}, nil
}

// splitBucket splits SCHEME://BUCKET/PREFIX.
func splitBucket(address, scheme string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(address, scheme+"://")
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.TrimSuffix(prefix, "/")
	if !ok || bucket == "" || strings.ContainsAny(bucket, "@:?#%") || prefix != "" && path.Clean("/"+prefix) != "/"+prefix {
		if strings.Contains(address, "@") { // what stands before it may be a credential
			address = scheme + "://…@…"
		}
		return "", "", fmt.Errorf("%w: %.200q, want %s://BUCKET or %s://BUCKET/PREFIX", ErrAddress, address, scheme, scheme)
	}
	return bucket, prefix, nil
}

// Close implements [io.Closer].
func (b *Bucket) Close() error { return nil }

func (b *Bucket) key(name string) string { return path.Join(b.prefix, name) }

// fail names what was asked for and gives what is not there its standard error.
func (b *Bucket) fail(what, name string, err error) error {
	if err == nil {
		return nil
	}
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		err = errors.Join(fs.ErrNotExist, err)
	}
	return fmt.Errorf("%s %s of bucket %s: %w", what, b.key(name), b.bucket, err)
}

// Size implements [peer.Target].
func (b *Bucket) Size(ctx context.Context, name string) (int64, error) {
	info, err := b.client.StatObject(ctx, b.bucket, b.key(name), minio.StatObjectOptions{})
	return info.Size, b.fail("look at", name, err)
}

// Get implements [peer.Target].
func (b *Bucket) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	object, err := b.client.GetObject(ctx, b.bucket, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, b.fail("read", name, err)
	}
	defer object.Close()
	content, err := readAll(object, name, limit)
	return content, b.fail("read", name, err)
}

// Put implements [peer.Target].
func (b *Bucket) Put(ctx context.Context, name string, f peer.TargetFile, content io.Reader) error {
	// The checksum is MD5 in the header: the other way, a signature for each part
	// of the body, is a content coding that some services hand on to readers.
	_, err := b.client.PutObject(ctx, b.bucket, b.key(name), content, f.Size, minio.PutObjectOptions{
		ContentType: f.Type, CacheControl: cacheControl(f), SendContentMd5: true, DisableContentSha256: true, PartSize: 16 << 20,
	})
	return b.fail("write", name, err)
}

func cacheControl(f peer.TargetFile) string {
	if f.Immutable {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}
