package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"arborist/daemon/api"
)

func (a *app) exportCommand() *cobra.Command {
	var req api.ExportRequest
	cmd := &cobra.Command{
		Use:   "export --car FILE [--corpus NAME | ROOT|URI…]",
		Short: "Write documents into an archive that IPFS tools read",
		Long: `Write documents into a CARv1 archive: all that a corpus lists now, or those that
are named. ipfs dag import FILE takes it into an IPFS node, pinned; another
arborist takes it back with import. The archive has titles, URIs and times too;
whoever gets it can read everything in it.`,
		Example: "  arborist export --car main.car\n  arborist export --car one.car file:notes/quarry.md",
		Args:    args(0, -1, "any number of ROOT or URI"),
		RunE: func(cmd *cobra.Command, what []string) (err error) {
			if req.File == "" {
				return usage(fmt.Errorf("export: no file is named"), "say where to: --car FILE")
			}
			if req.File, err = filepath.Abs(req.File); err != nil {
				return err
			}
			req.What = what
			return a.with(cmd.Context(), func(s api.Service) error {
				fn, done := a.progress()
				res, err := s.Export(cmd.Context(), req, fn)
				done()
				if err != nil {
					return err
				}
				if res.Private > 0 {
					a.note("%s of them, no peer can read here: whoever gets the file can.", plural(res.Private, "document"))
				}
				return a.emit(res, func(l *lines) {
					l.printf("%s (%s) in %s", plural(res.Documents, "document"), byteSize(res.Bytes), res.File)
					l.printf("root %s", res.CID)
				})
			})
		},
	}
	cmd.Flags().StringVar(&req.File, "car", "", "file to write; nothing may be there yet")
	cmd.Flags().StringVar(&req.Corpus, "corpus", "", `corpus whose documents to write (default "main")`)
	return cmd
}

func (a *app) importCommand() *cobra.Command {
	var req api.ImportRequest
	cmd := &cobra.Command{
		Use:   "import --car FILE [--corpus NAME | --private]",
		Short: "Store the documents of such an archive",
		Long: `Store the documents of a CARv1 archive that export wrote, or another tool from the
same blocks. Every block and every document is verified first. Says first whether
peers will be able to read them.`,
		Example: "  arborist import --car main.car --private",
		Args:    args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if req.File == "" {
				return usage(fmt.Errorf("import: no file is named"), "say which one: --car FILE")
			}
			if req.File, err = filepath.Abs(req.File); err != nil {
				return err
			}
			a.sayWho(req.Private, req.Corpus)
			return a.with(cmd.Context(), func(s api.Service) error {
				fn, done := a.progress()
				res, err := s.Import(cmd.Context(), req, fn)
				done()
				if err != nil {
					return err
				}
				return a.added(res)
			})
		},
	}
	cmd.Flags().StringVar(&req.File, "car", "", "file to read")
	cmd.Flags().StringVar(&req.Corpus, "corpus", "", `corpus to list the documents in (default "main")`)
	cmd.Flags().BoolVar(&req.Private, "private", false, "into the private crawl db, out of every peer's reach")
	return cmd
}
