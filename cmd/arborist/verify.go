package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"arborist/proof/report"
)

func (a *app) verifyCommand() *cobra.Command {
	var o report.Options
	cmd := &cobra.Command{
		Use:   "verify FILE [--key VKEY]…",
		Short: "Check a proof file or a bundle offline, or evidence against a publisher",
		Long: `Check a proof file, or the bundle of all hits that arborist query --bundle writes.
It opens no store and no connection: arborist-verify does the same and is a
program of its own, for people who have nothing else of Arborist.`,
		Example: "  arborist verify passage.proof --key \"$(arborist corpus key main)\"\n  arborist verify --evidence FILE --key \"$(arborist corpus key PEER/NAME)\"",
		Args: func(cmd *cobra.Command, files []string) error {
			if o.Evidence != "" && len(files) == 0 {
				return nil
			}
			return args(1, 1, "FILE, or - for standard input")(cmd, files)
		},
		RunE: func(_ *cobra.Command, files []string) error {
			o.JSON = a.json
			if len(files) > 0 {
				o.File = files[0]
			}
			// Nothing is to be left good here, and reading a pipe does not see the
			// context: an interrupt ends the program at once.
			signal.Reset(os.Interrupt, syscall.SIGTERM)
			if code := report.Run(o, a.in, a.out, a.err); code != 0 {
				return &exitError{code}
			}
			return nil
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}
