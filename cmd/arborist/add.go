package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) addCommand() *cobra.Command {
	var req api.AddRequest
	cmd := &cobra.Command{
		Use:        "add PATH… [--corpus NAME | --private]",
		SuggestFor: []string{"ingest", "index"},
		Short:      "Ingest files and folders",
		Long: `Ingest files and folders: Markdown, text, HTML, PDF, .docx, .xlsx, .pptx, .doc, .xls, .ppt and .rtf; and web
archives (.warc, .warc.gz, .wacz), each named on its own. Says first whether peers
will be able to read them.`,
		Example: "  arborist add ~/notes\n  arborist add --private ~/diary.md\n  arborist add --private crawl.warc.gz",
		Args:    args(1, -1, "PATH…"),
		RunE: func(cmd *cobra.Command, paths []string) error {
			for _, p := range paths {
				abs, err := filepath.Abs(p)
				if err != nil {
					return fmt.Errorf("find %s: %w", p, err)
				}
				req.Paths = append(req.Paths, abs)
			}
			a.sayWho(req.Private, req.Corpus)
			return a.with(cmd.Context(), func(s api.Service) error {
				fn, done := a.progress()
				res, err := s.Add(cmd.Context(), req, fn)
				done()
				if err != nil {
					return err
				}
				return a.added(res)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Corpus, "corpus", "", `corpus to list the documents in (default "main")`)
	f.BoolVar(&req.Private, "private", false, "into the private crawl db, out of every peer's reach")
	f.StringVar(&req.BaseURI, "base-uri", "", `what the documents' URIs start with (default "file:FOLDER/")`)
	return cmd
}

// sayWho says who will be able to read what is about to be stored.
func (a *app) sayWho(private bool, corpus string) {
	if private {
		a.note("These documents stay private: no peer can read them.")
	} else {
		a.note("Peers will be able to read these documents (corpus %s). To keep them to yourself, add --private.", corpusName(corpus))
	}
}

func corpusName(name string) string {
	if name == "" {
		return "main"
	}
	return name
}

// added prints what an add did and gives it its exit code.
func (a *app) added(res api.AddResult) error {
	for _, f := range res.Failed {
		a.note("failed: %s: %s", f.URI, f.Error)
	}
	a.warn(res.Warnings)
	if n := res.AlsoPrivate; n > 0 {
		a.note("warning: %s of these, which the private crawl db holds too, can be read by peers now", plural(n, "document"))
	}
	err := a.emit(res, func(l *lines) {
		l.printf("%s in %s (%s): %d new, %d unchanged, %d superseded, %d failed",
			plural(res.Documents, "document"), plural(res.Chunks, "chunk"), byteSize(res.Bytes),
			res.New, res.Unchanged, res.Superseded, len(res.Failed))
		if res.Older > 0 {
			l.printf("%s left out: recorded before what is stored at the same address", plural(res.Older, "document"))
		}
		if res.Known > 0 {
			l.printf("%s stored already, now here too: another URI or another corpus has the same text", plural(res.Known, "document"))
		}
		if res.Skipped > 0 {
			l.printf("%s skipped: of no kind that is read, or links", plural(res.Skipped, "file"))
		}
	})
	switch {
	case err != nil || len(res.Failed) == 0:
		return err
	case res.Documents == 0:
		return &exitError{api.CodeFailed.ExitCode()}
	default:
		return &exitError{api.CodePartial.ExitCode()}
	}
}
