package main

import (
	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) peerUnsyncCommand() *cobra.Command {
	var req api.UnsyncRequest
	cmd := &cobra.Command{
		Use:   "unsync CORPUS [--purge [--dry-run]]",
		Short: "Stop following a corpus",
		Long: `Stop following a corpus. What it listed leaves your searches, and peers get nothing
of it from you any more. The texts stay stored (arborist cat ROOT), and so do the
pinned key and the last signed head: following it again fetches no text twice and
takes no older history.

With --purge the texts go too, and the files shrink: all documents that came with this
corpus alone. What another corpus of yours or of others that you follow lists, now or
before, and what you added yourself stays. The shards are written anew for that, one
after the other: queries go on, adding waits meanwhile. It needs up to three times the
largest shard in free space for a while, says how much first, and does nothing where
that is not free. After a crash run the same again.`,
		Example: "  arborist peer unsync 12D3KooW…/main\n  arborist peer unsync 12D3KooW…/main --purge --dry-run",
		Args:    args(1, 1, "CORPUS"),
		RunE: func(cmd *cobra.Command, words []string) error {
			req.Corpus = words[0]
			return a.with(cmd.Context(), func(s api.Service) error {
				show, done := a.spaceThenProgress()
				res, err := s.Unsync(cmd.Context(), req, show)
				done()
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) { printUnsync(l, res) })
			})
		},
	}
	cmd.Flags().BoolVar(&req.Purge, "purge", false, "drop the documents that came with it alone, and give their space back")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "with --purge: say what would be dropped, and do nothing")
	return cmd
}

func printUnsync(l *lines, res api.UnsyncResult) {
	p := res.Purged
	if p != nil && p.DryRun {
		l.printf("%s (%s of text) would be dropped, %s would stay: something else here holds them; that takes up to %s of free space for a while, %s are free",
			plural(int(p.Documents), "document"), byteSize(p.Bytes), plural(int(p.Kept), "document"), byteSize(p.NeedBytes), byteSize(p.FreeBytes))
		return
	}
	texts := "; the texts stay stored"
	if p != nil {
		texts = ""
	}
	l.printf("%s is not followed any more; searches no longer show what it listed at %s%s", res.Corpus, plural(res.Documents, "place"), texts)
	if p != nil {
		l.printf("%s (%s of text) dropped, %s kept that something else here holds; the shards take %s, took %s: %s are free again",
			plural(int(p.Documents), "document"), byteSize(p.Bytes), plural(int(p.Kept), "document"), byteSize(p.After), byteSize(p.Before), byteSize(p.Before-p.After))
	}
}
