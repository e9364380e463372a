package main

import (
	"github.com/spf13/cobra"

	"arborist/daemon"
	"arborist/daemon/api"
)

func (a *app) checkCommand() *cobra.Command {
	var req api.CheckRequest
	cmd := &cobra.Command{
		Use:   "check [--read-data-subset 5%] [--repair] [--heal [--from PEER|URL]…] [--dry-run]",
		Short: "Re-hash every document and compare index, logs and text",
		Long: `Re-hash every document and compare index, logs and text. With --repair, files
with problems are written anew from the texts that hash to their roots; what does
not goes into HOME/private/quarantine, with a note. A file with damaged pages, or
one that cannot be opened, is mended only while no daemon runs; the damaged one is
kept in quarantine. With --heal, peers are asked for documents that a corpus lists
and that are not stored here any more: those given with --from, or else all that
are connected. They learn which documents those are.`,
		Example: "  arborist check --repair --dry-run\n  arborist check --heal",
		Args:    args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for i, word := range req.From {
				req.From[i] = sourceOf(word)
			}
			did, err := a.salvage(cmd, req)
			if err != nil {
				return err
			}
			opened := false
			err = a.with(cmd.Context(), func(s api.Service) error {
				opened = true
				res, err := s.CheckWith(cmd.Context(), req)
				if err != nil {
					return err
				}
				res.Repaired = append(did, res.Repaired...)
				return a.checked(res)
			})
			if err != nil && !opened && req.DryRun && len(did) > 0 {
				// What a repair would do first is what it takes to open the home.
				return a.checked(api.CheckResult{Repaired: did, Problems: []string{err.Error()}})
			}
			return err
		},
	}
	cmd.Flags().StringVar(&req.Subset, "read-data-subset", "", "documents to hash: 5%, or 1/10 to 10/10 (default all); the same text means the same documents")
	cmd.Flags().BoolVar(&req.Repair, "repair", false, "mend what can be mended, and say each thing that is done")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "with --repair or --heal: say what would be done, and do nothing")
	cmd.Flags().BoolVar(&req.Heal, "heal", false, "ask peers for documents that are listed and not stored, and say each that is back")
	cmd.Flags().StringArrayVar(&req.From, "from", nil, "with --heal: ask this peer (ID or multiaddr), URL or published folder (default: all connected peers)")
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

// checked prints what a check has found; problems are a failure.
func (a *app) checked(res api.CheckResult) error {
	err := a.emit(res, func(l *lines) { printCheck(l, res) })
	if err == nil && len(res.Problems) > 0 {
		err = &exitError{api.CodeInvalid.ExitCode()}
	}
	return err
}

func printCheck(l *lines, res api.CheckResult) {
	for _, line := range res.Repaired {
		l.printf("repair: %s", line)
	}
	for _, p := range res.Problems {
		l.printf("problem: %s", p)
	}
	if res.Next != "" {
		l.printf("next: %s", res.Next)
	}
	for _, root := range res.Quarantined {
		l.printf("in quarantine: %s", root)
	}
	l.printf("%s checked, %s", plural(res.Documents, "document"), plural(len(res.Problems), "problem"))
}
