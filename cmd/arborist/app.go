package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"arborist/daemon"
	"arborist/daemon/api"
	"arborist/ingest/extract/pdf"
)

// An app is one run of the command line: its streams and its global flags.
type app struct {
	in       io.Reader
	out, err io.Writer
	terminal bool // err is a terminal: progress is welcome
	bold     bool // out is a terminal that may show bold

	line []string // the whole command line
	goOn string   // what to do after an interrupt; empty: the same again

	home     string
	json     bool
	quiet    bool
	logLevel string
}

// run parses and runs one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.line = args
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		err = api.NewError(api.CodeInterrupted, errors.New("interrupted"), cmp.Or(a.goOn, "what was done is kept; run the command again to go on"))
	}
	return a.fail(err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "arborist",
		Short: "A peer-to-peer, sharded, content-addressed document store",
		Long: `Arborist keeps documents in content-addressed shards, finds passages in them,
proves every passage it returns, and shares chosen corpora with peers. What you
crawl or add with --private stays in a database of its own that no peer can reach.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          verbs,
		RunE:          a.noVerbAtAll,

		PersistentPreRunE: noneEmpty,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.home, "home", defaultHome(), "folder that holds the store (env ARBORIST_HOME)")
	flags.BoolVar(&a.json, "json", false, "answer in JSON, errors too")
	flags.BoolVar(&a.quiet, "quiet", false, "no progress and no notes on stderr")
	flags.StringVar(&a.logLevel, "log-level", "warn", "debug, info, warn or error")
	root.Flags().BoolP("version", "v", false, "which build this is")
	root.SetFlagErrorFunc(a.flagError)
	root.AddGroup(
		&cobra.Group{ID: "daily", Title: "Daily jobs:"},
		&cobra.Group{ID: "proof", Title: "Proofs:"},
		&cobra.Group{ID: "share", Title: "Sharing:"},
		&cobra.Group{ID: "keep", Title: "Keeping the store:"},
	)
	group := func(id string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("daily", a.addCommand(), a.crawlCommand(), a.crawlerCommand(), a.crawlReportCommand(), a.crawlSitesCommand(), a.crawlTextbooksCommand(), a.queryCommand(), a.catCommand(), a.showCommand(), a.historyCommand())
	group("proof", a.proveCommand(), a.verifyCommand())
	group("share", a.corpusCommand(), a.peerCommand(), a.publishCommand(), a.exportCommand(), a.importCommand())
	group("keep", a.initCommand(), a.daemonCommand(), a.attachCommand(), a.detachCommand(), a.statusCommand(), a.checkCommand(), a.compactCommand(), a.shardCommand(), a.backupCommand(), a.restoreCommand())
	a.checkTopics(root)
	return root
}

func defaultHome() string {
	if h := os.Getenv("ARBORIST_HOME"); h != "" {
		return h
	}
	h, err := os.UserHomeDir()
	if err != nil {
		return ".arborist"
	}
	return filepath.Join(h, ".arborist")
}

// theHome is the home as an absolute path, so that messages and the daemon
// mean the same folder.
func (a *app) theHome() (daemon.Home, error) {
	p, err := filepath.Abs(a.home)
	if err != nil {
		return "", fmt.Errorf("find home %s: %w", a.home, err)
	}
	return daemon.Home(p), nil
}

// with calls fn with the service of the home: the daemon's where one runs,
// otherwise the home opened here and closed afterwards.
func (a *app) with(ctx context.Context, fn func(api.Service) error) (err error) {
	s, stop, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return fn(s)
}

func (a *app) service(ctx context.Context) (api.Service, func() error, error) {
	home, err := a.theHome()
	if err != nil {
		return nil, nil, err
	}
	if c, err := api.Dial(ctx, home.Socket()); err == nil {
		return c, c.Close, nil
	}
	log, err := a.logger()
	if err != nil {
		return nil, nil, err
	}
	n, err := daemon.Open(ctx, daemon.Options{Home: home, Log: log, PDF: pdf.Self()})
	if err != nil {
		return nil, nil, err
	}
	return n, n.Close, nil
}

func (a *app) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return nil, usage(fmt.Errorf("--log-level %q: %w", a.logLevel, err), "take debug, info, warn or error")
	}
	log := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
	// What libraries write to the standard log (net/http: "Unsolicited response
	// received on idle HTTP channel") is about other people's servers: kept
	// for those who ask for all.
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(log)
	return log, nil
}

func usage(err error, hint string) error { return api.NewError(api.CodeUsage, err, hint) }

// args checks the number of arguments and says what is missing.
func args(low, high int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, got []string) error {
		if len(got) >= low && (high < 0 || len(got) <= high) {
			return nil
		}
		return usage(fmt.Errorf("%s: got %d arguments, want %s", cmd.CommandPath(), len(got), names),
			"for example: "+firstExample(cmd))
	}
}

// firstExample is one command line that works, for a hint.
func firstExample(cmd *cobra.Command) string {
	first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	return first
}
