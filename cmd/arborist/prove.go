package main

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/proof"
)

func (a *app) proveCommand() *cobra.Command {
	var corpus, out, passage string
	cmd := &cobra.Command{
		Use:   "prove ROOT CHUNK [-o FILE] [--text FILE]",
		Short: "Write a proof file that anybody can check offline",
		Long: `Write a proof that a chunk stands in a document and, where a corpus lists the
document or has listed it, in that corpus. The file holds the passage itself, or with
--text a file of its own does, for arborist-verify --text.`,
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
			if out != "" && filepath.Clean(out) == filepath.Clean(passage) {
				return usage(fmt.Errorf("--output and --text are both %s", out), "name two files, or leave out --text: the proof holds the passage then")
			}
			for _, name := range []string{out, passage} {
				if name == "" {
					continue
				}
				if err := checkOutput(name); err != nil {
					return err
				}
			}
			return a.with(cmd.Context(), func(s api.Service) error {
				res, err := s.Prove(cmd.Context(), api.ProveRequest{Root: root, Chunk: index, Corpus: corpus})
				if err != nil {
					return err
				}
				return a.proved(res, "", out, passage)
			})
		},
	}
	cmd.Flags().StringVar(&corpus, "corpus", "", "the corpus to prove it in (default: one that lists it, or has)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write (default: stdout)")
	cmd.Flags().StringVar(&passage, "text", "", "write the passage to this file, and leave it out of the proof")
	return cmd
}

// proved writes a proof to stdout, or to a file, and the passage to a file of its
// own where one is named: then it is not in the proof. JSON goes to stdout always.
// Key is that of the corpus where this node may not follow it.
func (a *app) proved(res api.ProveResult, key, out, passage string) error {
	a.warn(res.Warnings)
	p, err := proof.Parse([]byte(res.Text))
	if err != nil {
		return fmt.Errorf("read the proof: %w", err)
	}
	mode, check, holder := fs.FileMode(0o600), "", out
	if p.Log != nil {
		mode = 0o644
		if key != "" {
			check = " --key " + key
		} else if c, err := proof.ReadCheckpoint(p.Log.Note); err == nil {
			check = keyFlag(c.Origin)
		}
	}
	if passage != "" {
		if err := writeWhole(passage, p.Text, mode); err != nil {
			return err
		}
		check += " --text " + passage
		holder, p.Text = passage, nil
	}
	if holder != "" && p.Log == nil {
		a.note("%s holds the passage of a document that is in no corpus; whoever gets the file can read it", holder)
	}
	text, err := a.form(p.MarshalText, p.MarshalJSON)
	if err != nil {
		return err
	}
	if out != "" {
		if err := writeWhole(out, text, mode); err != nil {
			return err
		}
		a.note("wrote %s (%s); check it with: arborist-verify%s %s", out, byteSize(int64(len(text))), check, out)
	}
	if out == "" || a.json {
		_, err = a.out.Write(text)
	}
	return err
}

// form returns a proof or a bundle in the form that was asked for: with --json
// its JSON twin, also in files.
func (a *app) form(asText, asJSON func() ([]byte, error)) ([]byte, error) {
	if !a.json {
		return asText()
	}
	b, err := asJSON()
	return append(b, '\n'), err
}
