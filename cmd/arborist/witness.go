package main

import (
	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) corpusWitnessCommand() *cobra.Command {
	var req api.WitnessRequest
	cmd := &cobra.Command{
		Use:   "witness ORIGIN",
		Short: "Vouch in public for the heads of a corpus that you follow",
		Long: "From now on this node adds its cosignature to each head of the corpus that it accepts, and to the\n" +
			"stored one: that it continues every head seen before, and when that was found. Whoever reads the\n" +
			"corpus sees that this node follows it, and when. A corpus of your own cannot be witnessed.",
		Example: "  arborist corpus witness 12D3KooW…/main",
		Args:    args(1, 1, "ORIGIN"),
		RunE: func(cmd *cobra.Command, words []string) error {
			req.Corpus = words[0]
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.WitnessCorpus(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					if res.Witness {
						l.printf("witness of %s: everybody who reads it can see that this node follows it", res.Origin)
					} else {
						l.printf("no witness of %s any more; cosignatures given before stay", res.Origin)
					}
					printCorpora(l, []api.CorpusInfo{res})
				})
			})
		},
	}
	cmd.Flags().BoolVar(&req.Off, "off", false, "cosign no further heads")
	return cmd
}

func (a *app) peerWitnessKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "witness-key",
		Short:   "Print the verifier key that checks this node's cosignatures",
		Example: "  arborist peer witness-key",
		Args:    args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.WitnessKey(cmd.Context())
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) { l.printf("%s", res.Key) })
			})
		},
	}
}
