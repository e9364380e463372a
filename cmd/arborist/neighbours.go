package main

import (
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
