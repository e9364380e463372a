package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) peerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "peer",
		Short:   "Join peers and follow their corpora",
		Example: "  arborist peer sync /ip4/192.0.2.7/tcp/4707/p2p/12D3KooW… main",
		Args:    verbs,
		RunE:    a.noVerb,
	}
	cmd.AddCommand(a.peerIDCommand(), a.peerWitnessKeyCommand(), a.peerNetworkKeyCommand(), a.peerJoinCommand(), a.peerLeaveCommand(), a.peerListCommand(), a.peerListsCommand("allow"), a.peerListsCommand("deny"), a.peerCorporaCommand(), a.peerSyncCommand(), a.peerFindCommand(), a.peerFollowCommand())
	cmd.AddCommand(a.peerUnsyncCommand(), a.peerGetCommand(), a.peerProveCommand())
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
		Use:     "corpora [SOURCE]",
		Short:   "List the corpora that a peer, URL or folder serves",
		Example: "  arborist peer corpora 12D3KooW…",
		Args:    args(0, 1, "SOURCE or none"),
		RunE: func(cmd *cobra.Command, words []string) error {
			id := ""
			if len(words) > 0 {
				id = sourceOf(words[0])
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
	var rate int
	cmd := &cobra.Command{
		Use:   "sync [SOURCE…] CORPUS [--max-rate KIB]",
		Short: "Follow a corpus: fetch what is missing, verify every byte",
		Long: `Follow a corpus and bring it up to date. A SOURCE is a peer (its ID or full
multiaddr), the http(s) URL of a node or of a published corpus, or a folder that
arborist publish wrote. Several are used at once: one that fails or lies is given
up and the others go on. Without one, CORPUS is an origin (PEER/NAME), and whoever
serves it is found: see arborist peer find. A sync that is cut goes on where it was, from any source.`,
		Example: "  arborist peer sync /ip4/192.0.2.7/tcp/4707/p2p/12D3KooW… main\n" +
			"  arborist peer sync 12D3KooW…/main\n" +
			"  arborist peer sync https://corpora.example.org ./copy-on-disk 12D3KooW…/main",
		Args: args(1, 17, "[SOURCE…] CORPUS"),
		RunE: func(cmd *cobra.Command, words []string) error {
			last := len(words) - 1
			for i := range words[:last] {
				words[i] = sourceOf(words[i])
			}
			if last == 0 && isSource(words[0]) {
				return usage(fmt.Errorf("peer sync %s: no CORPUS is named", words[0]), "see what it serves: arborist peer corpora "+words[0])
			}
			req := api.SyncRequest{Corpus: words[last], MaxRate: int64(rate) << 10}
			if last > 0 {
				req.From, req.More = words[0], words[1:last]
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				fn, done := a.progress()
				res, err := s.Sync(cmd.Context(), req, fn)
				done()
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					if res.Documents+res.Resumed == 0 {
						l.printf("up to date: no document is missing")
					} else {
						l.printf("%s in %s (%s) fetched, each verified; %d were here already",
							plural(res.Documents, "document"), plural(res.Chunks, "chunk"), byteSize(res.Bytes), res.Resumed)
					}
					for _, s := range res.Sources {
						if s.Error != "" {
							l.printf("given up: %s", s.Error)
						}
					}
					printCorpora(l, []api.CorpusInfo{res.Corpus})
				})
			})
		},
	}
	numberVar(cmd.Flags(), &rate, "max-rate", 0, 1, maxSyncKiB, "take at most so many KiB a second, from all sources together (default: max_download_kib of config.toml)")
	return cmd
}

// maxSyncKiB is in KiB a second: more than any line has.
const maxSyncKiB = 1 << 30

// isSource reports whether a word can be nothing but a source: an address, a URL or
// a folder.
func isSource(word string) bool {
	return strings.HasPrefix(word, "/") || strings.Contains(word, "://") || sourceOf(word) != word
}

// sourceOf names a source the way that the daemon, which stands in another
// folder, understands it.
func sourceOf(word string) string {
	looks := strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || word == "." || word == ".."
	if info, err := os.Stat(word); !looks && (err != nil || !info.IsDir()) {
		return word
	}
	abs, err := filepath.Abs(word)
	if err != nil {
		return word
	}
	return "file:" + abs
}
