package main

import (
	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) corpusConfirmCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "confirm NAME",
		Short: "Say that a restored corpus has signed nothing after its backup",
		Long: `Say that a corpus of your own that was restored has signed nothing after its backup.

After arborist restore a corpus signs nothing until a follower has shown the head
that is here: whatever was added after the backup would be contradicted, and
followers would freeze the corpus for good. Where nobody follows it, only you can
know. What was published or followed later comes back by arborist peer sync.`,
		Example: "  arborist corpus confirm main",
		Args:    args(1, 1, "NAME"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.ConfirmCorpus(cmd.Context(), words[0])
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					l.printf("corpus %s goes on from the %d records that are here", res.Name, res.Size)
				})
			})
		},
	}
}
