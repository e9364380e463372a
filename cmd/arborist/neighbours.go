package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) peerNetworkKeyCommand() *cobra.Command {
	var req api.NetworkKeyRequest
	cmd := &cobra.Command{
		Use:   "network-key",
		Short: "Say which private network this node is in, or make one",
		Long: "Say which private network this node is in, or make one.\n\n" +
			"Nodes with the same keys/network.key connect to each other alone, over TCP and\n" +
			"WebSocket. Copy the file (mode 0600) to every node of the network; whoever has\n" +
			"it is in. A daemon that runs takes it over when it is started again.",
		Example: "  arborist peer network-key --new",
		Args:    args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.NetworkKey(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					if res.File == "" {
						l.printf("no private network: every peer can connect")
						return
					}
					l.printf("private network %s", res.Fingerprint)
					l.printf("key: %s", res.File)
					if res.New {
						l.printf("copy it, mode 0600, to each node of the network; start a running daemon again")
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&req.New, "new", false, "make the key of a new private network")
	return cmd
}

func (a *app) peerListCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:        "list",
		SuggestFor: []string{"ls"},
		Short:      "List connected peers",
		Example:    "  arborist peer list",
		Args:       args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				list := s.ListPeers
				if all {
					list = s.KnownPeers
				}
				res, err := list(cmd.Context())
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					if len(res.Peers) == 0 {
						l.printf("no peers")
					}
					for _, p := range res.Peers {
						printPeer(l, p)
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also peers that are not connected and are remembered")
	return cmd
}

func printPeer(l *lines, p api.PeerInfo) {
	state := "not connected"
	if p.Connected {
		state = p.Direction
		if p.LatencyMS > 0 { // 0 is one that nobody has measured
			state += fmt.Sprintf("  %.1f ms", p.LatencyMS)
		}
	}
	if p.Relayed {
		state += "  through a relay"
	}
	if p.Joined {
		state += "  joined"
	}
	l.printf("%s  %s", p.PeerID, state)
	for _, addr := range p.Addrs {
		l.printf("  %s", addr)
	}
	for _, origin := range p.Corpora {
		l.printf("  serves %s", origin)
	}
	if p.BytesIn+p.BytesOut > 0 {
		l.printf("  %s received, %s sent", byteSize(p.BytesIn), byteSize(p.BytesOut))
	}
	if p.Score < 0 || p.LimitsHit > 0 {
		l.printf("  score %d, limits hit %d times", p.Score, p.LimitsHit)
	}
	if p.AwayUntil != nil {
		l.printf("  kept away until %s; join it to forgive it", p.AwayUntil.Local().Format("2006-01-02 15:04:05"))
	}
}

func (a *app) peerLeaveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "leave PEER",
		Short:   "Disconnect from a peer and do not connect to it again",
		Example: "  arborist peer leave 12D3KooW…",
		Args:    args(1, 1, "PEER (a peer ID or multiaddr)"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.LeavePeer(cmd.Context(), words[0])
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					l.printf("left %s; it can still connect to this node: arborist peer deny %s", res.PeerID, res.PeerID)
				})
			})
		},
	}
}

// peerListsCommand is the verb of one of the two lists of who may connect.
func (a *app) peerListsCommand(list string) *cobra.Command {
	req := api.PeerListsRequest{List: list}
	short := map[string]string{
		"allow": "Let only the listed peers and networks connect",
		"deny":  "Keep peers and networks from connecting",
	}[list]
	cmd := &cobra.Command{
		Use:   list + " [PEER|NETWORK]",
		Short: short,
		Long: short + ".\n\n" +
			"Without a word it prints the lists. They count at once, for connections that are\n" +
			"there too. Deny goes before allow. While the allow list names peers no others can\n" +
			"connect, and while it names networks nobody from elsewhere.",
		Example: "  arborist peer " + list + " 12D3KooW…\n  arborist peer " + list + " 192.0.2.0/24",
		Args:    args(0, 1, "PEER, NETWORK or none"),
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) > 0 {
				req.Entry = words[0]
			} else if req.Remove {
				return usage(errors.New("--remove of what?"), "arborist peer "+list+" --remove PEER")
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.PeerLists(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					for _, e := range res.Deny {
						l.printf("deny   %s", e)
					}
					for _, e := range res.Allow {
						l.printf("allow  %s", e)
					}
					if len(res.Allow) == 0 {
						l.printf("everybody else can connect")
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&req.Remove, "remove", false, "take it off the list")
	return cmd
}

func (a *app) peerFindCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "find CORPUS",
		Short: "Look for peers that serve a corpus",
		Long: "Look for peers that serve a corpus, named by its origin (PEER/NAME): among known\n" +
			"and connected peers, and with bootstrap peers in config.toml in the wide-area\n" +
			"directory. Those who are asked see which corpus is looked for.",
		Example: "  arborist peer find 12D3KooW…/main",
		Args:    args(1, 1, "CORPUS (an origin, PEER/NAME)"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.FindCorpus(cmd.Context(), words[0])
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					for _, p := range res.Peers {
						l.printf("%s  %s", p.PeerID, p.How)
						for _, addr := range p.Addrs {
							l.printf("  %s", addr)
						}
					}
				})
			})
		},
	}
}

func (a *app) peerFollowCommand() *cobra.Command {
	var req api.FollowRequest
	cmd := &cobra.Command{
		Use:   "follow [CORPUS]",
		Short: "Fetch what is new in a followed corpus as soon as a peer tells of it",
		Long: "Fetch what is new in a followed corpus as soon as a peer tells of it, while the\n" +
			"daemon runs. CORPUS is an origin (PEER/NAME) that was synced before. Without it\n" +
			"the command lists the corpora that are followed in this way.",
		Example: "  arborist peer follow 12D3KooW…/main",
		Args:    args(0, 1, "CORPUS (an origin, PEER/NAME) or none"),
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) > 0 {
				req.Origin = words[0]
			} else if req.Off {
				return usage(errors.New("--off for which corpus?"), "arborist peer follow --off CORPUS")
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.FollowCorpus(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					for _, origin := range res.Follow {
						l.printf("%s", origin)
					}
					if res.All {
						l.printf("every followed corpus: follow_all in config.toml")
					} else if len(res.Follow) == 0 {
						l.printf("none: a corpus stays as the last peer sync left it")
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&req.Off, "off", false, "leave it as it is until the next peer sync")
	return cmd
}
