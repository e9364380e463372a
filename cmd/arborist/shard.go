package main

import (
	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) shardCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shard",
		Short: "Look after the shard files",
		Args:  verbs,
		RunE:  a.noVerb,
	}
	cmd.AddCommand(a.shardSplitCommand())
	return cmd
}

func (a *app) shardSplitCommand() *cobra.Command {
	var req api.SplitRequest
	cmd := &cobra.Command{
		Use:   "split [--dry-run]",
		Short: "Double the number of shard files",
		Long: `Double the number of shard files: each document goes into one of the two files that
its old one is taken apart into. Queries go on and find the same; adding waits at the
end, for a moment, and queries for a shorter one: it says how long. The new files are
made beside the old ones and checked whole first, which takes about as long as adding
everything once more, and twice the bytes of all shards in free space. A crash leaves
the old files or the new ones. There are at most 256.`,
		Example: "  arborist shard split --dry-run",
		Args:    args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				show, done := a.spaceThenProgress()
				res, err := s.SplitShards(cmd.Context(), req, show)
				done()
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) { printSplit(l, res) })
			})
		},
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "say what it takes, and do nothing")
	return cmd
}

func printSplit(l *lines, res api.SplitResult) {
	if res.DryRun {
		l.printf("%d shards would become %d; that takes up to %s of free space for a while, %s are free", res.Before, res.Shards, byteSize(res.NeedBytes), byteSize(res.FreeBytes))
		return
	}
	l.printf("%d shards, were %d: %s moved; adding waited %d ms, queries %d ms of that", res.Shards, res.Before,
		plural(int(res.Documents), "document"), res.WaitedMS, res.StoppedMS)
}
