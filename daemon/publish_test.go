package daemon

import (
	"errors"
	"strings"
	"testing"

	"arborist/daemon/api"
)

// What is wrong with the command is told from what is wrong with a bucket, which
// has a next step.
func TestATargetThatCannotBeIsTheCommandsMistakeAndOneThatDoesNotAnswerIsNot(t *testing.T) {
	const nobody = "http://127.0.0.1:1"
	t.Setenv("AWS_ENDPOINT_URL_S3", nobody)
	t.Setenv("STORAGE_EMULATOR_HOST", nobody)
	home := newHome(t)
	addPages(t, home, "first", 1)
	n := openNode(t, home)
	for to, want := range map[string]api.Code{
		"s3://": api.CodeUsage, "s3:///x": api.CodeUsage, "s3://b/a/../b": api.CodeUsage, "s3://me:secret@b": api.CodeUsage,
		"gs://": api.CodeUsage, "gs://b/../x": api.CodeUsage, "ftp://b": api.CodeUsage, "S3://b": api.CodeUsage,
		"s3://b": api.CodeUnavailable, "gs://b/x": api.CodeUnavailable,
	} {
		_, err := n.Publish(t.Context(), api.PublishRequest{Corpus: "main", To: to}, nil)
		var told *api.Error
		if !errors.As(err, &told) || told.Code != want || want == api.CodeUnavailable && told.Hint == "" {
			t.Errorf("publish to %s: %v (%+v), want %s", to, err, told, want)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error holds a credential: %v", err)
		}
	}
}
