package corpus

import (
	"errors"
	"path/filepath"
	"testing"

	"arborist/proof"
)

func TestTheFirstKeyStatementIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "corpora.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	signer, err := proof.NewSigner("peer/main", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := s.Certify(ctx, "peer/main", []byte("x")); !errors.Is(err, ErrNotFound) {
		t.Errorf("Certify of no corpus = %v, want ErrNotFound", err)
	}
	if _, err := s.Follow(ctx, signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Statement(ctx, "peer/main"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Statement before any = %v, want ErrNotFound", err)
	}
	for _, bad := range [][]byte{nil, make([]byte, maxStatement+1)} {
		if err := s.Certify(ctx, "peer/main", bad); err == nil {
			t.Errorf("a statement of %d bytes was kept", len(bad))
		}
	}
	for _, text := range []string{"first", "second"} {
		if err := s.Certify(ctx, "peer/main", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path); err != nil {
		t.Fatal(err)
	}
	got, err := s.Statement(ctx, "peer/main")
	if err != nil || string(got) != "first" {
		t.Errorf("Statement after a restart = %q, %v, want %q", got, err, "first")
	}
}
