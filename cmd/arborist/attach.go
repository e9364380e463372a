package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) attachCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "attach FILE",
		Short: "Let every query search a shard file that somebody else made",
		Long: `Copy a shard file that somebody else made into this home, verify all of it, and let
every later query search it too: every document is hashed again, and the index
compared with the texts word by word. A file that fails is refused with the reason,
and nothing of it is kept. FILE itself is only read, and not needed afterwards.

Peers never see an attached file. Attaching the same path again takes what the file
holds by then. Undo it with: arborist detach FILE`,
		Example: "  arborist attach ~/Downloads/stone.db",
		Args:    args(1, 1, "FILE"),
		RunE: func(cmd *cobra.Command, words []string) error {
			path, err := filepath.Abs(words[0])
			if err != nil {
				return fmt.Errorf("find %s: %w", words[0], err)
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.Attach(cmd.Context(), path)
				if err != nil {
					return err
				}
				if res.LogBeside {
					a.note("A write-ahead log lies beside %s: what stood in that alone was left out.", path)
				}
				return a.emit(res, func(l *lines) { printAttached(l, res) })
			})
		},
	}
}

func printAttached(l *lines, res api.AttachResult) {
	how := "attached"
	switch {
	case res.Replaced:
		how = "attached anew"
	case !res.New:
		how = "was attached already, and is again"
	}
	l.printf("%s: %s", how, res.Path)
	l.printf("verified: %d documents in %d chunks (%s), the index word by word, %d ms", res.Documents, res.Chunks, byteSize(int64(res.Bytes)), res.TookMS)
	if res.Migrated {
		l.printf("its copy was brought to the current schema version")
	}
	l.printf("kept as attached/%s (%s); peers do not see it", res.Name, byteSize(res.FileBytes))
}

func (a *app) detachCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "detach FILE",
		Short: "End what attach began, and delete the copy",
		Long: `Let queries no longer search an attached file, and delete this home's copy of it. FILE
is the path that was attached, which need not exist any more, or the name of the
copy, as status shows both.`,
		Example: "  arborist detach ~/Downloads/stone.db",
		Args:    args(1, 1, "FILE"),
		RunE: func(cmd *cobra.Command, words []string) error {
			name := words[0]
			if stem := strings.TrimSuffix(name, ".db"); len(stem) != 32 || strings.Trim(stem, "0123456789abcdef") != "" {
				abs, err := filepath.Abs(name)
				if err != nil {
					return fmt.Errorf("find %s: %w", name, err)
				}
				name = abs
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.Detach(cmd.Context(), name)
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					l.printf("detached: %s (%d documents); its copy is deleted", res.Path, res.Documents)
				})
			})
		},
	}
}
