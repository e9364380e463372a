package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestThePageOfTheCommandLineHasEachFlag: docs/cli.md names every verb and
// flag that there is, and no other.
func TestThePageOfTheCommandLineHasEachFlag(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	root := (&app{}).rootCommand()
	named := map[string]map[string]bool{}
	words, flags := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`(^|[\s\[(])--?([a-z][a-z-]*)`)
	_, table, _ := strings.Cut(string(page), "\n| verb |")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		cell, _, found := strings.Cut(strings.TrimPrefix(strings.ReplaceAll(row, `\|`, "/"), "|"), "|")
		if !found || strings.HasPrefix(row, "|---") {
			continue
		}
		for _, m := range words.FindAllStringSubmatch(cell, -1) {
			cmd, _, err := root.Find(strings.Fields(m[1]))
			if err != nil || cmd == root {
				if !strings.HasPrefix(m[1], "completion") && !strings.HasPrefix(m[1], "--") {
					t.Errorf("the page has the verb %q", m[1])
				}
				continue
			}
			if named[cmd.CommandPath()] == nil {
				named[cmd.CommandPath()] = map[string]bool{}
			}
			for _, f := range flags.FindAllStringSubmatch(m[1], -1) {
				named[cmd.CommandPath()][f[2]] = true
				if cmd.Flags().Lookup(f[2]) == nil && (len(f[2]) != 1 || cmd.Flags().ShorthandLookup(f[2]) == nil) {
					t.Errorf("%s: the page has the flag %s, which is none", cmd.CommandPath(), f[2])
				}
			}
		}
	}
	eachVerb(func(_ []string, cmd *cobra.Command) {
		if cmd.Hidden || cmd.Parent().Name() == "completion" { // one for each shell: of the library
			return
		}
		if named[cmd.CommandPath()] == nil {
			t.Errorf("%s is not on the page", cmd.CommandPath())
			return
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !named[cmd.CommandPath()][f.Name] && f.Name != "help" && !f.Hidden {
				t.Errorf("%s: --%s is not on the page", cmd.CommandPath(), f.Name)
			}
		})
	})
}
