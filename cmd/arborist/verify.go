package main

import (
	"github.com/spf13/cobra"

	"arborist/proof/report"
)

func (a *app) verifyCommand() *cobra.Command {
	var o report.Options
	cmd := &cobra.Command{
		Use:   "verify FILE [--key VKEY]",
		Short: "Check a proof file offline",
		Long: `Check a proof file. It opens no store and no connection: arborist-verify does the
same and is a program of its own, for people who have nothing else of Arborist.`,
		Example: "  arborist verify passage.proof --key \"$(arborist corpus key main)\"",
		Args:    args(1, 1, "FILE, or - for standard input"),
		RunE: func(_ *cobra.Command, files []string) error {
			o.File, o.JSON = files[0], a.json
			if code := report.Run(o, a.in, a.out, a.err); code != 0 {
				return &exitError{code}
			}
			return nil
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}
