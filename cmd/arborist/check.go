package main

import (
	"github.com/spf13/cobra"

	"arborist/daemon"
	"arborist/daemon/api"
)

func (a *app) checkCommand() *cobra.Command {
	var req api.CheckRequest
	cmd := &cobra.Command{
		Use:   "check [--read-data-subset 5%] [--repair [--dry-run]]",
		Short: "Re-hash every document and compare index, logs and text",
		Long: `Re-hash every document and compare index, logs and text. With --repair, files
with problems are written anew from the texts that hash to their roots; what does
not goes into HOME/private/quarantine, with a note. A file with damaged pages is
mended only while no daemon runs; the damaged one is kept in quarantine.`,
		Example: "  arborist check --repair --dry-run",
		Args:    args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			did, err := a.salvage(cmd, req)
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.CheckWith(cmd.Context(), req)
				if err != nil {
					return err
				}
				res.Repaired = append(did, res.Repaired...)
				err = a.emit(res, func(l *lines) { printCheck(l, res) })
				if err == nil && len(res.Problems) > 0 {
					err = &exitError{api.CodeInvalid.ExitCode()}
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&req.Subset, "read-data-subset", "", "documents to hash: 5%, or 1/10 to 10/10 (default all); the same text means the same documents")
	cmd.Flags().BoolVar(&req.Repair, "repair", false, "mend what can be mended, and say each thing that is done")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "with --repair: say what would be done, and do nothing")
	return cmd
}

// salvage mends files with damaged pages where a repair is wanted and no daemon
// has them open.
func (a *app) salvage(cmd *cobra.Command, req api.CheckRequest) ([]string, error) {
	if !req.Repair {
		return nil, nil
	}
	home, err := a.theHome()
	if err != nil {
		return nil, err
	}
	if c, err := api.Dial(cmd.Context(), home.Socket()); err == nil {
		return nil, c.Close()
	}
	return daemon.Salvage(cmd.Context(), home, req.DryRun)
}

func printCheck(l *lines, res api.CheckResult) {
	for _, line := range res.Repaired {
		l.printf("repair: %s", line)
	}
	for _, p := range res.Problems {
		l.printf("problem: %s", p)
	}
	for _, root := range res.Quarantined {
		l.printf("in quarantine: %s", root)
	}
	l.printf("%s checked, %s", plural(res.Documents, "document"), plural(len(res.Problems), "problem"))
}
