package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"arborist/daemon"
	"arborist/daemon/api"
)

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy the home into a new folder, while the daemon goes on",
		Long: `Copy the home into a folder that is new or empty: shards, logs, the private
crawl db, keys and configuration, all as of one moment, while the daemon goes on.
The file MANIFEST, with the SHA-256 of each file, comes last: a folder without it
is no backup. Whoever can read the copy can sign as you and read what is private.`,
		Example: "  arborist backup /mnt/usb/arborist-2026-11-30",
		Args:    args(1, 1, "a new folder"),
		RunE: func(cmd *cobra.Command, got []string) error {
			dir, err := filepath.Abs(got[0])
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				fn, done := a.progress()
				res, err := s.Backup(cmd.Context(), api.BackupRequest{Dir: dir}, fn)
				done()
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					l.printf("%s with %s in %s", plural(res.Files, "file"), byteSize(res.Bytes), res.Dir)
					if n := len(res.LeftOut); n > 0 {
						l.printf("left out: %s; attach them again after a restore: %s", plural(n, "attached file"), strings.Join(res.LeftOut, ", "))
					}
					l.printf("bring it back with: arborist restore %s --home NEW", res.Dir)
				})
			})
		},
	}
}

func (a *app) restoreCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "restore DIR [--home NEW]",
		Short: "Make a home of a backup, where none is yet",
		Long: `Make a home of a backup. Every byte is compared with the manifest, then the
new home is checked in short; arborist check reads all of it. Nothing is replaced:
move the old home away first. Two homes of one backup must not both go on.`,
		Example: "  arborist restore /mnt/usb/arborist-2026-11-30 --home ~/.arborist",
		Args:    args(1, 1, "the folder of a backup"),
		RunE: func(cmd *cobra.Command, got []string) error {
			home, err := a.theHome()
			if err != nil {
				return err
			}
			dir, err := filepath.Abs(got[0])
			if err != nil {
				return err
			}
			fn, done := a.progress()
			res, err := daemon.Restore(cmd.Context(), daemon.RestoreOptions{Dir: dir, Home: home, DryRun: dryRun}, fn)
			done()
			if err != nil {
				return err
			}
			err = a.emit(res, func(l *lines) {
				if res.DryRun {
					l.printf("the backup of %s is whole: %s, %s; nothing was written", res.Made.Format("2006-01-02 15:04:05Z"), plural(res.Files, "file"), byteSize(res.Bytes))
					return
				}
				for _, p := range res.Problems {
					l.printf("problem: %s", p)
				}
				for _, n := range res.Notes {
					l.printf("note: %s", n)
				}
				l.printf("restored %s as of %s: %s, %s", res.Home, res.Made.Format("2006-01-02 15:04:05Z"), plural(res.Files, "file"), byteSize(res.Bytes))
			})
			if err == nil && len(res.Problems) > 0 {
				err = &exitError{api.CodeInvalid.ExitCode()}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "verify the backup and write nothing")
	return cmd
}
