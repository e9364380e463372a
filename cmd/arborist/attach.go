package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) attachCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "attach FILE…",
		Short: "Let every query search shard files that somebody else made",
		Long: `Copy shard files that somebody else made into this home, verify all of them, and let
every later query search them too: every document is hashed again, and the index
compared with the texts word by word. A file that fails is refused with the reason,
and nothing of it is kept; the others are attached (exit code 3). FILE itself is only
read, and not needed afterwards.

Peers never see an attached file. Attaching the same path again takes what the file
holds by then; the same bytes under a second path count once. Undo it with: arborist
detach FILE`,
		Example: "  arborist attach ~/Downloads/stone.db\n  arborist attach ~/Downloads/*.db",
		Args:    args(1, -1, "FILE…"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.with(cmd.Context(), func(s api.Service) error { return a.attach(cmd.Context(), s, words) })
		},
	}
}

// An attachment is what became of the files of one attach.
type attachment struct {
	Attached []api.AttachResult `json:"attached"`
	Failed   []api.Failure      `json:"failed"`
}

// attach attaches files one after the other. Each counts, durably, once it is
// verified, so whoever interrupts it keeps what was done.
func (a *app) attach(ctx context.Context, s api.Service, files []string) error {
	res := attachment{Attached: []api.AttachResult{}, Failed: []api.Failure{}}
	for i, name := range files {
		path, err := filepath.Abs(name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		one, err := s.Attach(ctx, path)
		if err == nil {
			res.Attached = append(res.Attached, one)
			if one.LogBeside {
				a.note("A write-ahead log lies beside %s: what stood in that alone was left out.", path)
			}
			continue
		}
		e := api.AsError(err)
		n := len(res.Failed)
		switch {
		case len(files) == 1 || n > 0 && res.Failed[n-1].Error == e.Message: // in the same words: it is not about the file
			a.noteAttached(res.Attached)
			return e
		case ctx.Err() != nil:
			a.noteAttached(res.Attached)
			e.Hint = fmt.Sprintf("%d of %d files are attached; run the command again to go on", i-len(res.Failed), len(files))
			return e
		}
		a.note("refused: %s", e.Message)
		if e.Hint != "" {
			a.note("next: %s", e.Hint)
		}
		res.Failed = append(res.Failed, api.Failure{URI: path, Error: e.Message, Next: e.Hint})
	}
	err := a.emit(res, func(l *lines) {
		for _, one := range res.Attached {
			printAttached(l, one)
		}
		if len(files) > 1 {
			l.printf("%s attached, %d refused", plural(len(res.Attached), "file"), len(res.Failed))
		}
	})
	switch {
	case err != nil || len(res.Failed) == 0:
		return err
	case len(res.Attached) == 0:
		return &exitError{api.CodeFailed.ExitCode()}
	default:
		return &exitError{api.CodePartial.ExitCode()}
	}
}

// noteAttached says what was done before an error that ends it all.
func (a *app) noteAttached(done []api.AttachResult) {
	for _, one := range done {
		a.note("attached: %s", one.Path)
	}
}

func printAttached(l *lines, res api.AttachResult) {
	switch {
	case res.SameAs != "":
		l.printf("the same bytes as %s, which is attached: they count once: %s", res.SameAs, res.Path)
		return
	case res.Replaced:
		l.printf("attached anew: %s", res.Path)
	case !res.New:
		l.printf("was attached already, and is again: %s", res.Path)
	default:
		l.printf("attached: %s", res.Path)
	}
	l.printf("verified: %d documents in %d chunks (%s), the index word by word, %d ms", res.Documents, res.Chunks, byteSize(int64(res.Bytes)), res.TookMS)
	if res.Migrated {
		l.printf("its copy was brought to the current schema version")
	}
	l.printf("kept as attached/%s (%s); peers do not see it", res.Name, byteSize(res.FileBytes))
}

func (a *app) detachCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "detach FILE",
		Short: "End what attach began, and delete the copy",
		Long: `Let queries no longer search an attached file, and delete this home's copy of it. FILE
is the path that was attached, which need not exist any more, or the name of the
copy, as status shows both.`,
		Example: "  arborist detach ~/Downloads/stone.db",
		Args:    args(1, 1, "FILE"),
		RunE: func(cmd *cobra.Command, words []string) error {
			name := words[0]
			if stem := strings.TrimSuffix(name, ".db"); len(stem) != 32 || strings.Trim(stem, "0123456789abcdef") != "" {
				abs, err := filepath.Abs(name)
				if err != nil {
					return fmt.Errorf("find %s: %w", name, err)
				}
				name = abs
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.Detach(cmd.Context(), name)
				if err != nil {
					return err
				}
				return a.emit(res, func(l *lines) {
					l.printf("detached: %s (%d documents); its copy is deleted", res.Path, res.Documents)
				})
			})
		},
	}
}
