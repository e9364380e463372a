package main

import (
	"github.com/spf13/cobra"

	"arborist/daemon"
)

func (a *app) initCommand() *cobra.Command {
	var shards int
	cmd := &cobra.Command{
		Use:     "init [--shards N]",
		Short:   "Make the home and its keys; a second time changes nothing",
		Example: "  arborist init",
		Args:    args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := a.theHome()
			if err != nil {
				return err
			}
			res, err := daemon.Init(cmd.Context(), home, shards)
			if err != nil {
				return err
			}
			return a.emit(res, func(l *lines) {
				if res.New {
					l.printf("made %s with %s", res.Home, plural(res.Shards, "shard"))
				} else {
					l.printf("%s is there already, with %s; nothing changed", res.Home, plural(res.Shards, "shard"))
				}
				l.printf("peer ID %s", res.PeerID)
			})
		},
	}
	numberVar(cmd.Flags(), &shards, "shards", 0, 1, 256, "shard files, a power of two up to 256 (default 4)")
	return cmd
}
