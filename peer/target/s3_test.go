package target

import (
	"errors"
	"io/fs"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// fakeS3 serves an S3 of its own with one bucket, and makes it the one that the
// environment names.
func fakeS3(t *testing.T) (url string) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("corpora"); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(s.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": s.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "SOMEKEYID", "AWS_SECRET_ACCESS_KEY": "some-secret-of-mine",
		"AWS_SESSION_TOKEN": "", "HOME": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	return s.URL
}

func TestACorpusInABucketIsFollowedOverHTTP(t *testing.T) {
	url := fakeS3(t)
	h := newHome(t)
	h.add("a", 300)
	b, err := OpenS3(t.Context(), "s3://corpora/some/where/")
	if err != nil {
		t.Fatal(err)
	}
	if res := h.publish(b, false); res.Before != 0 || res.Size != 300 {
		t.Errorf("publish = %+v", res)
	}
	wantFollowedFrom(t, h, b, url)
	if _, err := b.Size(t.Context(), "nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there = %v", err)
	}
	if _, err := b.Get(t.Context(), "arborist/v1/corpora", 10); err == nil {
		t.Error("more than the limit was read")
	}
}

func TestErrorsOfABucketHoldNoCredentials(t *testing.T) {
	fakeS3(t)
	for _, address := range []string{"s3://", "s3:///x", "s3://a@b/x", "s3://nowhere", "s3://corpora/../x", "s3://corpora//x", "gs://corpora"} {
		_, err := OpenS3(t.Context(), address)
		if err == nil {
			t.Errorf("%s was opened", address)
			continue
		}
		if s := err.Error(); strings.Contains(s, "secret-of-mine") || strings.Contains(s, "SOMEKEYID") {
			t.Errorf("%s: the error names credentials: %s", address, s)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://user:secret-of-mine@127.0.0.1:1")
	if _, err := OpenS3(t.Context(), "s3://corpora"); err == nil || strings.Contains(err.Error(), "secret-of-mine") {
		t.Errorf("an endpoint with a password = %v", err)
	}
}
