package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"arborist/daemon"
	"arborist/daemon/api"
)

func (a *app) corpusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "corpus",
		Short:   "Manage the corpora on this node",
		Example: "  arborist corpus list",
		Args:    verbs,
		RunE:    a.noVerb,
	}
	cmd.AddCommand(a.corpusListCommand(), a.corpusShowCommand(), a.corpusCreateCommand(), a.corpusWithdrawCommand(), a.corpusKeyCommand(), a.corpusRotationsCommand(), a.corpusWitnessCommand(), a.corpusConfirmCommand())
	return cmd
}

func (a *app) corpusListCommand() *cobra.Command {
	return &cobra.Command{
		Use:        "list",
		SuggestFor: []string{"ls"},
		Short:      "List corpora, our own and followed ones",
		Example:    "  arborist corpus list",
		Args:       args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.ListCorpora(cmd.Context())
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) { printOurs(l, res.Corpora) })
			})
		},
	}
}

func (a *app) corpusShowCommand() *cobra.Command {
	var past api.CorpusAtRequest
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Say what is known of one corpus",
		Long: "With --at N: the corpus as it was when its log had N records, with the documents that it listed\n" +
			"then, whatever was replaced or withdrawn since. The root is computed from the log.",
		Example: "  arborist corpus show main\n  arborist corpus show main --at 1000",
		Args:    args(1, 1, "NAME"),
		RunE: func(cmd *cobra.Command, words []string) error {
			if cmd.Flags().Changed("at") {
				past.Corpus = words[0]
				return a.corpusPast(cmd, past)
			}
			if err := pastFlags(cmd); err != nil {
				return err
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.ListCorpora(cmd.Context())
				if err != nil {
					return err
				}
				for _, c := range res.Corpora {
					if c.Origin == words[0] || c.Own && c.Name == words[0] {
						return a.emit(c, func(l *lines) {
							printOurs(l, []api.CorpusInfo{c})
							l.printf("  key      %s", c.Key)
							for _, k := range c.ReplacedKeys {
								l.printf("  replaced %s", k)
							}
						})
					}
				}
				return api.NewError(api.CodeNotFound, fmt.Errorf("no corpus %q on this node", words[0]), "see which there are: arborist corpus list")
			})
		},
	}
	f := cmd.Flags()
	numberVar(f, &past.Size, "at", 0, 0, math.MaxInt64, "as it was when its log had this many records")
	numberVar(f, &past.Limit, "limit", 100, 1, daemon.MaxListings, "listings a page, with --at")
	numberVar(f, &past.Offset, "offset", 0, 0, math.MaxInt32, "listings to skip, with --at")
	return cmd
}

func (a *app) corpusCreateCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "create NAME",
		Short:   "Make a corpus with a key of its own",
		Example: "  arborist corpus create papers",
		Args:    args(1, 1, "NAME"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.CreateCorpus(cmd.Context(), words[0])
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) { printCorpora(l, []api.CorpusInfo{res}) })
			})
		},
	}
}

// printOurs prints corpora with what keeps any from going on; status has these
// among its own problems.
func printOurs(l *lines, corpora []api.CorpusInfo) {
	printCorpora(l, corpora)
	for _, c := range corpora {
		if c.Problem != "" {
			l.printf("  problem: %s", c.Problem)
		}
	}
}

func printCorpora(l *lines, corpora []api.CorpusInfo) {
	if len(corpora) == 0 {
		l.printf("no corpora")
	}
	name, documents := 12, 6 // the widths of the first columns
	for _, c := range corpora {
		name, documents = max(name, len(c.Name)), max(documents, len(strconv.FormatUint(c.Documents, 10)))
	}
	for _, c := range corpora {
		kind := "followed"
		if c.Own {
			kind = "own"
		}
		if c.Peer != "" {
			kind = "served by " + c.Peer
		}
		l.printf("%-*s %*d documents, log size %d  %s  (%s)", name, c.Name, documents, c.Documents, c.Size, c.Origin, kind)
		for _, w := range c.Witnesses {
			l.printf("  cosigned %s, by %s", w.Time, w.Name)
		}
		for _, e := range c.Evidence {
			found := ""
			if !e.Found.IsZero() {
				found = ", found " + e.Found.Format(time.DateOnly)
			}
			l.printf("  %s of %d and %d records%s: %s", e.Kind, e.Older, e.Newer, found, e.File)
		}
	}
}
