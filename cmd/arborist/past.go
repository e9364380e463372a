package main

import (
	"errors"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

// corpusPast is `corpus show --at`: the corpus as it was.
func (a *app) corpusPast(cmd *cobra.Command, req api.CorpusAtRequest) error {
	return a.with(cmd.Context(), func(s api.Service) error {
		res, err := s.CorpusAt(cmd.Context(), req)
		if err != nil {
			return err
		}
		return a.emit(res, func(l *lines) {
			l.printf("%-12s %6d documents, log size %d  %s", res.Name, res.Documents, res.Size, res.Origin)
			l.printf("  root     %s", res.Root)
			for _, e := range res.Listed {
				l.printf("%8d  %s  %s", e.Index, e.Root, e.URI)
			}
			if shown := uint64(len(res.Listed)); shown > 0 && shown < res.Listings {
				l.printf("  listings %d to %d of %d", req.Offset+1, req.Offset+len(res.Listed), res.Listings)
			}
		})
	})
}

// pastFlags reads the flags of `corpus show` that only mean something with --at.
func pastFlags(cmd *cobra.Command) error {
	for _, name := range []string{"limit", "offset"} {
		if cmd.Flags().Changed(name) {
			return usage(errors.New("--"+name+" without --at"), "say at which size: --at N")
		}
	}
	return nil
}
