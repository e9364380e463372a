package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verbs is for commands that are only the home of others.
func verbs(cmd *cobra.Command, got []string) error {
	if len(got) == 0 {
		return nil
	}
	return usage(fmt.Errorf("there is no verb %q", verb(cmd, got)), like(cmd, got[0])+"see: "+cmd.CommandPath()+" --help")
}

// like says which verb may have been meant.
func like(cmd *cobra.Command, got string) string {
	if got == "version" && !cmd.HasParent() {
		return cmd.CommandPath() + " --version says the version; "
	}
	cmd.SuggestionsMinimumDistance = 2 // letters that differ
	if names := slices.Compact(cmd.SuggestionsFor(got)); len(names) > 0 {
		return "is " + cmd.CommandPath() + " " + strings.Join(names, " or ") + " meant? "
	}
	return ""
}

func verb(cmd *cobra.Command, got []string) string {
	return strings.TrimPrefix(cmd.CommandPath()+" "+got[0], "arborist ")
}

// noVerb is what such a command does alone: it says which verbs there are, to people.
func (a *app) noVerb(cmd *cobra.Command, _ []string) error {
	if a.json {
		return usage(errors.New("no verb is given"), "see: "+cmd.CommandPath()+" --help")
	}
	return cmd.Help()
}

// checkTopics has the commands that the library brings refuse what does not
// exist: it would print the help of something else and call that success.
func (a *app) checkTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, topic []string) error {
				if cmd, rest, err := root.Find(topic); err != nil || len(rest) > 0 {
					return usage(fmt.Errorf("there is no verb %q", verb(cmd, append(rest, topic...))), "see: "+cmd.CommandPath()+" --help")
				}
				return nil
			}
		case "completion":
			c.Args, c.RunE = verbs, a.noVerb
		}
	}
}

// flagError says what is wrong with a flag. Flags after it were not read yet,
// and --json may be among them.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	next := "see: " + cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if cmd.Name() == "query" {
			next += "; a text that begins with a minus sign goes behind --: " + cmd.CommandPath() + " -- '-draft proof'"
		}
		if short := unknown.GetSpecifiedShortnames(); short != "" && unicode.IsDigit(rune(short[0])) {
			_, number := parseNumber("-" + short)
			err = fmt.Errorf("-%s: %w", short, number)
		}
	}
	a.json = a.json || slices.Contains(a.line, "--json")
	return usage(err, next)
}
