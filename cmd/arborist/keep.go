package main

import (
	"github.com/spf13/cobra"

	"arborist/daemon"
	"arborist/daemon/api"
	"arborist/ingest/extract/pdf"
)

func (a *app) daemonCommand() *cobra.Command {
	var listen []string
	var http string
	cmd := &cobra.Command{
		Use:        "daemon [--listen MULTIADDR]… [--http HOST:PORT]",
		SuggestFor: []string{"serve", "start", "run"},
		Short:      "Run the node in the foreground, reachable by peers",
		Long: `Run the node in the foreground until Ctrl-C. Peers that know its address can
read the corpora on this node; nothing else of it, and nothing of the crawl db.`,
		Example: "  arborist daemon",
		Args:    args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := a.theHome()
			if err != nil {
				return err
			}
			log, err := a.logger()
			if err != nil {
				return err
			}
			opts := daemon.Options{Home: home, Listen: listen, HTTP: http, Log: log, PDF: pdf.Self()}
			return daemon.Serve(cmd.Context(), opts, func(n *daemon.Node) {
				id, err := n.PeerID(cmd.Context())
				if err != nil {
					return
				}
				a.emit(id, func(l *lines) {
					l.printf("ready: peer %s", id.PeerID)
					for _, addr := range id.Addrs {
						l.printf("listening at %s", addr)
					}
					if id.HTTP != "" {
						l.printf("serving corpora to whoever reaches %s", id.HTTP)
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&http, "http", "", "serve the corpora over plain HTTP too; without a host to this machine alone (default: config.toml, or not at all)")
	cmd.Flags().StringArrayVar(&listen, "listen", nil, "address for peers (default: config.toml, or port 4707 on all interfaces)")
	return cmd
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Say how the node is, health first",
		Example: "  arborist status",
		Args:    args(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.Status(cmd.Context())
				if err != nil {
					return err
				}
				_, res.Running = s.(*api.Client)
				return a.emit(res, func(l *lines) { printStatus(l, res) })
			})
		},
	}
}

func printStatus(l *lines, s api.StatusResult) {
	health := "healthy"
	if !s.Healthy {
		health = "NOT healthy"
	}
	running := "the daemon is not running"
	if s.Running {
		running = "the daemon is running"
	}
	l.printf("%s; %s; %s", health, running, s.State)
	for _, p := range s.Problems {
		l.printf("problem: %s", p)
	}
	l.printf("home     %s (%s)", s.Home, plural(s.Shards, "shard"))
	l.printf("shared   %d documents, %d chunks, %s: peers may read them", s.Shared.Documents, s.Shared.Chunks, byteSize(int64(s.Shared.Bytes)))
	l.printf("private  %d documents, %d chunks, %s: nobody else can", s.Crawl.Documents, s.Crawl.Chunks, byteSize(int64(s.Crawl.Bytes)))
	if s.Pending > 0 {
		l.printf("pending  %s of all these, which are not in the search index yet", plural(s.Pending, "document"))
	}
	l.printf("peer     %s, %d connected", s.PeerID, s.Peers)
	for _, addr := range s.Addrs {
		l.printf("         %s", addr)
	}
	for _, f := range s.Attached {
		l.printf("attached %s (%d documents, %d chunks), as %s", f.Path, f.Documents, f.Chunks, f.Name)
	}
	printCorpora(l, s.Corpora)
}
