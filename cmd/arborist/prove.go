package main

import (
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/proof"
)

func (a *app) proveCommand() *cobra.Command {
	var corpus, out string
	cmd := &cobra.Command{
		Use:   "prove ROOT CHUNK [-o FILE]",
		Short: "Write a proof file that anybody can check offline",
		Long: `Write a proof that a chunk stands in a document and, where a corpus lists the
document or has listed it, in that corpus. The file holds the passage itself.`,
		Example: "  arborist prove bafkrei… 3 -o passage.proof",
		Args:    args(2, 2, "ROOT CHUNK"),
		RunE: func(cmd *cobra.Command, words []string) error {
			root, err := document.ParseRoot(words[0])
			if err != nil {
				return usage(err, "a root starts with bafkrei; arborist query shows it with each hit")
			}
			index, err := parseNumber(words[1])
			if err != nil {
				return usage(fmt.Errorf("chunk %.40q: %w", words[1], err), "the first chunk is 0; arborist query shows the number with each hit")
			}
			if out != "" {
				if err := checkOutput(out); err != nil {
					return err
				}
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.Prove(cmd.Context(), api.ProveRequest{Root: root, Chunk: index, Corpus: corpus})
				if err != nil {
					return err
				}
				return a.proved(res, out)
			})
		},
	}
	cmd.Flags().StringVar(&corpus, "corpus", "", "the corpus to prove it in (default: one that lists it, or has)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write (default: stdout)")
	return cmd
}

func (a *app) proved(res api.ProveResult, out string) error {
	a.warn(res.Warnings)
	text := []byte(res.Text)
	if a.json {
		text = append(append([]byte{}, res.JSON...), '\n')
	}
	if out == "" {
		_, err := a.out.Write(text)
		return err
	}
	mode, check := fs.FileMode(0o600), ""
	if p, err := proof.Parse([]byte(res.Text)); err == nil && p.Log != nil {
		mode, check = 0o644, ""
		if c, err := proof.ReadCheckpoint(p.Log.Note); err == nil {
			check = keyFlag(c.Origin)
		}
	} else {
		a.note("%s holds the passage of a document that is in no corpus; whoever gets the file can read it", out)
	}
	if err := writeWhole(out, text, mode); err != nil {
		return err
	}
	a.note("wrote %s (%s); check it with: arborist-verify%s %s", out, byteSize(int64(len(text))), check, out)
	return nil
}
