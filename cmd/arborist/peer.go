package main

import (
	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) peerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "peer",
		Short:   "Join peers and follow their corpora",
		Example: "  arborist peer sync /ip4/192.0.2.7/tcp/4707/p2p/12D3KooW… main",
		Args:    verbs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.peerIDCommand(), a.peerWitnessKeyCommand(), a.peerNetworkKeyCommand(), a.peerJoinCommand(), a.peerLeaveCommand(), a.peerListCommand(), a.peerListsCommand("allow"), a.peerListsCommand("deny"), a.peerCorporaCommand(), a.peerSyncCommand(), a.peerFindCommand())
	return cmd
}

func (a *app) peerIDCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "id",
		Short:   "Print this node's peer ID and the addresses it listens at",
		Example: "  arborist peer id",
		Args:    args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.PeerID(cmd.Context())
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					l.printf("%s", res.PeerID)
					for _, addr := range res.Addrs {
						l.printf("%s", addr)
					}
					if len(res.Addrs) == 0 {
						l.printf("not listening: start the daemon with arborist daemon")
					}
				})
			})
		},
	}
}

func (a *app) peerJoinCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "join MULTIADDR",
		Short:   "Connect to a peer",
		Example: "  arborist peer join /ip4/192.0.2.7/tcp/4707/p2p/12D3KooW…",
		Args:    args(1, 1, "MULTIADDR"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.Join(cmd.Context(), words[0])
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) { l.printf("connected to %s", res.PeerID) })
			})
		},
	}
}

func (a *app) peerCorporaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "corpora [PEER]",
		Short:   "List the corpora that a peer serves",
		Example: "  arborist peer corpora 12D3KooW…",
		Args:    args(0, 1, "PEER or none"),
		RunE: func(cmd *cobra.Command, words []string) error {
			id := ""
			if len(words) > 0 {
				id = words[0]
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.PeerCorpora(cmd.Context(), id)
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) { printCorpora(l, res.Corpora) })
			})
		},
	}
}

func (a *app) peerSyncCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sync [PEER|URL] CORPUS",
		Short: "Follow a corpus: fetch what is missing, verify every byte",
		Long: "Follow a corpus: fetch what is missing, verify every byte.\n\n" +
			"Without a peer, CORPUS is an origin (PEER/NAME), and whoever serves it is found:\n" +
			"see arborist peer find.",
		Example: "  arborist peer sync /ip4/192.0.2.7/tcp/4707/p2p/12D3KooW… main\n  arborist peer sync 12D3KooW…/main",
		Args:    args(1, 2, "[PEER] CORPUS"),
		RunE: func(cmd *cobra.Command, words []string) error {
			req := api.SyncRequest{Corpus: words[len(words)-1]}
			if len(words) == 2 {
				req.From = words[0]
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				fn, done := a.progress()
				res, err := s.Sync(cmd.Context(), req, fn)
				done()
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					l.printf("%s in %s (%s) fetched, each verified; %d were here already",
						plural(res.Documents, "document"), plural(res.Chunks, "chunk"), byteSize(res.Bytes), res.Resumed)
					printCorpora(l, []api.CorpusInfo{res.Corpus})
				})
			})
		},
	}
}
