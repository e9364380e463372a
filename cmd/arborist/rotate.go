package main

import (
	"errors"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) corpusKeyCommand() *cobra.Command {
	var rotate, retire bool
	cmd := &cobra.Command{
		Use:   "key NAME [--rotate | --retire]",
		Short: "Print the verifier key that checks a corpus's proofs, or change it",
		Long: `Print the verifier key that checks a corpus's proofs.

With --rotate the corpus gets a new key, which its followers take over by
themselves; the old key signs beside it until --retire drops its secret. Old
proofs stay good: see corpus rotations.`,
		Example: "  arborist corpus key main\n  arborist corpus key main --rotate",
		Args:    args(1, 1, "NAME"),
		RunE: func(cmd *cobra.Command, words []string) error {
			if rotate && retire {
				return usage(errors.New("--rotate and --retire together"), "rotate first; retire the old key when followers have had time to sync")
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				switch {
				case rotate:
					res, err := s.RotateCorpus(cmd.Context(), words[0])
					if err != nil {
						return err
					}
					a.note("both keys sign now; drop the old one later with: arborist corpus key %s --retire", words[0])
					return a.emit(res, func(l *lines) { l.printf("%s", res.Key) })
				case retire:
					res, err := s.RetireCorpusKey(cmd.Context(), words[0])
					if err != nil {
						return err
					}
					return a.emit(res, func(l *lines) { l.printf("%s", res.Key) })
				}
				res, err := s.CorpusKey(cmd.Context(), words[0])
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) { l.printf("%s", res.Key) })
			})
		},
	}
	cmd.Flags().BoolVar(&rotate, "rotate", false, "give the corpus a new key; the old one signs beside it")
	cmd.Flags().BoolVar(&retire, "retire", false, "drop the secret of the key that was replaced")
	return cmd
}

func (a *app) corpusRotationsCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "rotations NAME [-o FILE]",
		Short:   "Print the rotations of a corpus's key, for verify --rotations",
		Example: "  arborist corpus rotations main -o main.rotations",
		Args:    args(1, 1, "NAME"),
		RunE: func(cmd *cobra.Command, words []string) error {
			if out != "" {
				if err := checkOutput(out); err != nil {
					return err
				}
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.CorpusRotations(cmd.Context(), words[0])
				if err != nil {
					return err
				}
				if out == "" && !a.json {
					_, err := a.out.Write([]byte(res.File))
					return err
				}
				if out != "" {
					if err := writeWhole(out, []byte(res.File), 0o644); err != nil {
						return err
					}
					a.note("wrote %s; check an old proof with: arborist-verify PROOF --key KEY --rotations %s", out, out)
					if !a.json {
						return nil
					}
				}
				return a.emit(res, func(*lines) {})
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write (default: stdout)")
	return cmd
}
