package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what this build calls itself.
const version = "0.1.0"

// noVerbAtAll is the command line without a verb: what there is, or which build this is.
func (a *app) noVerbAtAll(cmd *cobra.Command, args []string) error {
	if asked, err := cmd.Flags().GetBool("version"); err != nil || !asked {
		return a.noVerb(cmd, args)
	}
	commit := builtFrom()
	return a.emit(map[string]string{"version": version, "commit": commit, "go": runtime.Version()}, func(l *lines) {
		if commit != "" {
			l.printf("arborist version %s (commit %.12s)", version, commit)
			return
		}
		l.printf("arborist version %s", version)
	})
}

// builtFrom is the commit that the program was built from, empty where the build
// does not say it.
func builtFrom() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
