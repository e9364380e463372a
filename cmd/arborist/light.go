package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"arborist/daemon"
	"arborist/daemon/api"
	"arborist/document"
)

func (a *app) peerGetCommand() *cobra.Command {
	var req api.FetchRequest
	var alone lightFlags
	var chunk, out string
	cmd := &cobra.Command{
		Use:   "get [SOURCE] ROOT [--chunk N] [--corpus NAME] [-o FILE]",
		Short: "Print a document or a chunk that a peer has, verified; store nothing",
		Long: `Ask a SOURCE (as for peer sync) for one document, or for one chunk of it, and print
the text once it is verified. No corpus is followed and nothing is stored.

Without a SOURCE the connected peers are asked whose corpora may have it: the filter
that a publisher signs says which cannot, and those never learn what you look for.

` + lightHelp,
		Example: "  arborist peer get 12D3KooW… bafkrei… --chunk 3",
		Args:    args(1, 2, "[SOURCE] ROOT"),
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := name(&req, words, chunk, cmd.Flags().Changed("chunk")); err != nil {
				return err
			}
			if out != "" {
				if err := checkOutput(out); err != nil {
					return err
				}
			}
			return a.withLight(cmd.Context(), req, alone, func(s api.LightReader) error {
				res, err := s.Fetch(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.fetched(res, out)
			})
		},
	}
	cmd.Flags().StringVar(&chunk, "chunk", "", "only this chunk, the first is 0")
	cmd.Flags().StringVar(&req.Corpus, "corpus", "", "the corpus to ask for it (default: each that the source has)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write (default: stdout)")
	alone.add(cmd)
	return cmd
}

func (a *app) fetched(res api.FetchResult, out string) error {
	if out != "" {
		if err := writeWhole(out, res.Text, 0o644); err != nil {
			return err
		}
		a.note("wrote %s (%s)", out, byteSize(int64(len(res.Text))))
	}
	switch {
	case a.json:
		shown := map[string]any{"root": res.Root, "corpus": res.Corpus, "text": string(res.Text)}
		if res.Chunk != nil {
			shown["chunk"] = *res.Chunk
		}
		return a.emitJSON(shown)
	case out != "":
		return nil
	}
	text := res.Text
	if f, ok := a.out.(*os.File); ok && isTerminal(f) {
		text = []byte(clean(string(text)))
	}
	_, err := a.out.Write(text)
	return err
}

func (a *app) peerProveCommand() *cobra.Command {
	var req api.FetchRequest
	var alone lightFlags
	var out string
	cmd := &cobra.Command{
		Use:   "prove [SOURCE] ROOT CHUNK [--corpus NAME] [-o FILE]",
		Short: "Write a proof of a chunk that a peer has, verified; store nothing",
		Long: `Ask a SOURCE (as for peer sync) for the proof of one chunk, verify it against the key
that the publisher has certified, and write it. No corpus is followed and nothing
is stored; arborist verify checks the file again, offline. Without a SOURCE the
connected peers are asked, as for peer get.

` + lightHelp,
		Example: "  arborist peer prove 12D3KooW… bafkrei… 3 -o passage.proof",
		Args:    args(2, 3, "[SOURCE] ROOT CHUNK"),
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := name(&req, words[:len(words)-1], words[len(words)-1], true); err != nil {
				return err
			}
			if out != "" {
				if err := checkOutput(out); err != nil {
					return err
				}
			}
			return a.withLight(cmd.Context(), req, alone, func(s api.LightReader) error {
				res, err := s.ProveRemote(cmd.Context(), req)
				if err != nil {
					return err
				}
				a.note("proven in %s; its key is %s", res.Corpus, res.Key)
				return a.proved(res.ProveResult, res.Key, out, "")
			})
		},
	}
	cmd.Flags().StringVar(&req.Corpus, "corpus", "", "the corpus to prove it in (default: each that the source has)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write (default: stdout)")
	alone.add(cmd)
	return cmd
}

// lightHelp says how the light client is alone.
const lightHelp = `Where --home is no home, or with --light, it needs none: it asks under an identity
that is made for it and forgotten, and writes no file but FILE. With a home it asks
as that node, in its private network, and refuses another key than a pinned one.`

// lightFlags say how the light client asks.
type lightFlags struct {
	light      bool
	networkKey string
}

func (l *lightFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.light, "light", false, "use no home, even where there is one")
	cmd.Flags().StringVar(&l.networkKey, "network-key", "", "key file of the private network to ask in; implies --light")
}

// withLight calls fn with who asks for single things: the service of the home,
// where there is one and no other is wanted, and otherwise somebody without a home.
func (a *app) withLight(ctx context.Context, req api.FetchRequest, flags lightFlags, fn func(api.LightReader) error) (err error) {
	if !flags.light && flags.networkKey == "" {
		err := a.with(ctx, func(s api.Service) error { return fn(s) })
		if known := new(api.Error); req.From == "" || !errors.As(err, &known) || known.Code != api.CodeNoStore {
			return err
		}
	}
	l, err := daemon.OpenLight(flags.networkKey)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return fn(l)
}

// name reads what a request names from the command line: words are SOURCE and
// ROOT, or ROOT alone.
func name(req *api.FetchRequest, words []string, chunk string, hasChunk bool) (err error) {
	if len(words) > 1 {
		req.From = sourceOf(words[0])
	}
	if req.Root, err = document.ParseRoot(words[len(words)-1]); err != nil {
		return usage(err, "a root starts with bafkrei; arborist query shows it with each hit")
	}
	if hasChunk {
		n, err := parseNumber(chunk)
		if err != nil {
			return usage(fmt.Errorf("chunk %.40q: %w", chunk, err), "the first chunk is 0")
		}
		req.Chunk = &n
	}
	return nil
}
