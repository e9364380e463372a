package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) compactCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "Make the files of the home as small as they can be",
		Long: `Make the files of the home as small as they can be: the segments of each search
index become one, each file is written anew without free pages, its log is emptied.
Queries go on, with and without a daemon; adding waits while the file is written that
is in turn. It needs up to three times the largest file in free space for a while,
says how much first, and does nothing where that is not free. A crash loses nothing.`,
		Example: "  arborist compact",
		Args:    args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				show, done := a.spaceThenProgress()
				res, err := s.Compact(cmd.Context(), api.CompactRequest{}, show)
				done()
				if err != nil {
					return err
				}
				err = a.emit(res, func(l *lines) { printCompact(l, res) })
				if err == nil {
					for _, f := range res.Files {
						if f.Error != "" {
							return &exitError{api.CodePartial.ExitCode()}
						}
					}
				}
				return err
			})
		},
	}
}

func printCompact(l *lines, res api.CompactResult) {
	for _, f := range res.Files {
		if f.Error != "" {
			l.printf("left as it was: %s", f.Error)
			continue
		}
		l.printf("%-12s %s, was %s", filepath.Base(f.File), byteSize(f.After), byteSize(f.Before))
	}
	l.printf("%s, was %s", byteSize(res.After), byteSize(res.Before))
}
