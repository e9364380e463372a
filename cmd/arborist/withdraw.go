package main

import (
	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) corpusWithdrawCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "withdraw NAME (ROOT|URI)…",
		Short: "End the listings of documents in a corpus of your own",
		Long: `End the listings of documents in a corpus of your own. Searches no longer show them,
followers' searches neither after their next sync. It takes nothing back: the log
keeps what it said, the text stays stored here, and followers keep their copies.`,
		Example: "  arborist corpus withdraw main file:notes/quarry.md",
		Args:    args(2, -1, "NAME and at least one ROOT or URI"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.Withdraw(cmd.Context(), api.WithdrawRequest{Corpus: words[0], What: words[1:]})
				if err != nil {
					return err
				}
				a.note("The log keeps what it said, and followers keep their copies.")
				return a.emit(res, func(l *lines) {
					for _, uri := range res.Withdrawn {
						l.printf("withdrawn: %s", uri)
					}
					l.printf("%s ended; log size %d", plural(len(res.Withdrawn), "listing"), res.Size)
				})
			})
		},
	}
}
