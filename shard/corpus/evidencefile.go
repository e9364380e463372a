package corpus

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"arborist/proof"
)

// FileName is the name of the file that holds this evidence in the folder of
// [Store.FileEvidence]: its kind and 32 digits of the SHA-256 of its text.
// Nothing that another node has chosen stands in it as it is.
func (e Evidence) FileName() (string, error) {
	text, err := e.MarshalText()
	if err != nil {
		return "", err
	}
	return fileName(e.Kind, text), nil
}

func fileName(kind proof.EvidenceKind, text []byte) string {
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%s-%x.txt", kind, sum[:16])
}

// FileEvidence makes dir, from now on, the folder where all evidence also
// stands in files of its own (docs/formats.md, Evidence), for people to hand on.
// The store stays what counts: files that are missing are written now, new
// ones after their row is durable and whole or not at all. A rollback's file
// goes with its row, of which there are at most 16 per corpus, and so does that
// of a replaced key's head; a file of another kind is never removed.
func (s *Store) FileEvidence(ctx context.Context, dir string) error {
	s.filing.Lock()
	s.evidence = dir
	s.filing.Unlock()
	return s.fileEvidence(ctx)
}

// fileEvidence makes the folder hold what the store holds.
func (s *Store) fileEvidence(ctx context.Context) error {
	s.filing.Lock()
	defer s.filing.Unlock()
	if s.evidence == "" {
		return nil
	}
	// Half a list would remove files that are wanted; the row is written, so the
	// file is due although the caller may have gone.
	ctx = context.WithoutCancel(ctx)
	wanted, err := s.evidenceTexts(ctx)
	if err == nil {
		err = syncFolder(s.evidence, wanted)
	}
	if err != nil {
		return fmt.Errorf("write evidence to %s: %w", s.evidence, err)
	}
	return nil
}

// evidenceTexts returns the text of all evidence by its file name.
func (s *Store) evidenceTexts(ctx context.Context) (map[string][]byte, error) {
	texts := make(map[string][]byte)
	err := s.view(ctx, func(tx *sql.Tx) error {
		logs, err := allLogs(ctx, tx)
		if err != nil {
			return err
		}
		for _, l := range logs {
			all, err := allEvidence(ctx, tx, l)
			if err != nil {
				return err
			}
			for _, e := range all {
				text, err := e.MarshalText()
				if err != nil {
					return fmt.Errorf("%w: evidence %d of %s: %w", ErrCorrupt, e.ID, l.origin, err)
				}
				texts[fileName(e.Kind, text)] = text
			}
		}
		return nil
	})
	return texts, err
}

// syncFolder writes the files that are missing and removes rollbacks that are
// not wanted. It touches no file of another name.
func syncFolder(dir string, wanted map[string][]byte) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) && len(wanted) == 0 {
		return nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// A root keeps links in the folder from leading anywhere else.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	stale := regexp.MustCompile(`^((rollback|replaced-key)-[0-9a-f]{32}\.txt|(rollback|replaced-key|equivocation|rotation|rotation-fork)-[0-9a-f]{32}\.txt\.new)$`)
	for _, entry := range entries {
		if wanted[entry.Name()] == nil && stale.MatchString(entry.Name()) {
			if err := root.Remove(entry.Name()); err != nil {
				return err
			}
		}
	}
	for name, text := range wanted {
		if have, err := root.ReadFile(name); err == nil && string(have) == string(text) {
			continue
		}
		if err := writeWhole(root, name, text); err != nil {
			return err
		}
	}
	return syncDir(dir)
}

// writeWhole writes a file whole and durable or not at all.
func writeWhole(root *os.Root, name string, text []byte) error {
	tmp := name + ".new"
	if err := root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return nil
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
