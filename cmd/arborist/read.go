package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
	"arborist/document"
)

func (a *app) catCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "cat ROOT",
		Short:   "Print a document's text, byte for byte",
		Example: "  arborist cat bafkrei…",
		Args:    args(1, 1, "ROOT"),
		RunE: func(cmd *cobra.Command, words []string) error {
			root, err := document.ParseRoot(words[0])
			if err != nil {
				return usage(err, "a root starts with bafkrei; arborist query shows it with each hit")
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				text, err := s.Text(cmd.Context(), root)
				if err != nil {
					return err
				}
				if a.json {
					return a.emitJSON(map[string]string{"root": root.String(), "text": string(text)})
				}
				if f, ok := a.out.(*os.File); ok && isTerminal(f) {
					text = []byte(clean(string(text)))
				}
				_, err = a.out.Write(text)
				return err
			})
		},
	}
}

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show ROOT|URI",
		Short:   "Say what is known of a document",
		Example: "  arborist show https://example.org/docs/",
		Args:    args(1, 1, "ROOT or URI"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.Show(cmd.Context(), words[0])
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					l.printf("root      %s", res.Root)
					l.printf("document  %s", res.ID)
					l.printf("size      %s in %s (%s, %s)", byteSize(int64(res.Bytes)), plural(int(res.Chunks), "chunk"), res.Norm, res.Chunker)
					printVersions(l, res.Locations)
				})
			})
		},
	}
}

func (a *app) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "history URI",
		Short:   "List the versions of a document, newest first",
		Example: "  arborist history file:docs/architecture.md",
		Args:    args(1, 1, "URI"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.History(cmd.Context(), words[0])
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) { printVersions(l, res.Versions) })
			})
		},
	}
}

func printVersions(l *lines, versions []api.Version) {
	for _, v := range versions {
		state := "withdrawn"
		switch {
		case v.Current:
			state = "current"
		case v.Replaced:
			state = "superseded"
		}
		place := v.Corpus
		if place == "" {
			place = "private"
		}
		if v.GoneSince != nil {
			place += ", gone from its site since " + v.GoneSince.Format("2006-01-02 15:04:05")
		}
		switch {
		case v.Index != nil && v.EndedIndex != nil:
			place += fmt.Sprintf(", at log sizes %d to %d", *v.Index+1, *v.EndedIndex)
		case v.Index != nil:
			place += fmt.Sprintf(", from log size %d on", *v.Index+1)
		}
		if v.WithdrawnAt != nil {
			place += ", withdrawn " + v.WithdrawnAt.Format(time.DateTime)
		}
		if v.Author != "" {
			place += ", by " + v.Author
		}
		if v.Parent != "" {
			place += ", found on " + v.Parent
		}
		l.printf("%-10s fetched %s  %s  %s  %s", state, v.FetchedAt.Format(time.DateTime), v.Root, v.URI, place)
	}
}
