package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) publishCommand() *cobra.Command {
	var req api.PublishRequest
	cmd := &cobra.Command{
		Use:   "publish --corpus NAME --to DIR|s3://BUCKET/PREFIX|gs://BUCKET/PREFIX [--documents]",
		Short: "Write a corpus as files that any web server can serve",
		Long: `Write a corpus as files, below DIR/arborist/v1, or as objects of an S3 bucket, whose
place and credentials come from the environment (AWS_ENDPOINT_URL, AWS_REGION,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or ~/.aws/credentials, or of a Google bucket,
with what GOOGLE_APPLICATION_CREDENTIALS names. Whoever can read them there, or at the URL
of a web server that has them, can follow the corpus and verifies every byte: the
server needs no trust. Publishing again writes what is new, the signed head
last. Nothing is ever deleted, and nothing private can get there: only what the
log of the corpus lists.`,
		Example: "  arborist publish --corpus main --to /srv/www\n" +
			"  arborist publish --corpus main --to s3://my-bucket/corpora",
		Args: args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if req.Corpus == "" || req.To == "" {
				return usage(errors.New("publish: --corpus and --to are both needed"), "for example: arborist publish --corpus main --to /srv/www")
			}
			if !strings.Contains(req.To, "://") {
				abs, err := filepath.Abs(req.To)
				if err != nil {
					return err
				}
				req.To = abs
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				fn, done := a.progress()
				res, err := s.Publish(cmd.Context(), req, fn)
				done()
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					l.printf("%s at %s: %d records, %d of them new; %s (%s) written", res.Corpus.Origin, res.To,
						res.Size, res.Size-res.Before, plural(res.Files, "file"), byteSize(res.Bytes))
				})
			})
		},
	}
	cmd.Flags().StringVar(&req.Corpus, "corpus", "", "corpus to publish, an own or a followed one")
	cmd.Flags().StringVar(&req.To, "to", "", "folder or bucket to write to")
	cmd.Flags().BoolVar(&req.Documents, "documents", false, "also each document by its root, for peer get: as many files as documents")
	return cmd
}
