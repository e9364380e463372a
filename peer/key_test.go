package peer

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

func TestIdentityFileIsMadeOnceAndKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "peer.pem")
	first, err := LoadID(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadID(path)
	if err != nil {
		t.Fatal(err)
	}
	if first != again {
		t.Errorf("identity changed from %s to %s", first, again)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("identity file has mode %04o, want 0600", st.Mode().Perm())
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) != 1 {
		t.Errorf("%d files in the key folder, want 1", len(left))
	}
}

func TestIdentityIsPrivateUnderAnyUmask(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "peer.pem")
	if _, err := LoadID(path); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o with umask 0, want 0600", st.Mode().Perm())
	}
}

func TestIdentitiesThatStartTogetherAgree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peer.pem")
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			id, err := LoadID(path)
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("two identities from one file: %s and %s", id, ids[0])
		}
	}
}

func TestUnusableIdentityFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if _, err := LoadID(good); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ecDER, _ := x509.MarshalPKCS8PrivateKey(ec)
	write := func(name string, mode os.FileMode, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path string }{
		{"group can read", write("group", 0o640, sound)},
		{"others can read", write("other", 0o604, sound)},
		{"others can write", write("write", 0o602, sound)},
		{"symbolic link", link},
		{"fifo", fifo},
		{"folder", dir},
		{"empty", write("empty", 0o600, nil)},
		{"cut", write("cut", 0o600, sound[:len(sound)/2])},
		{"two keys", write("two", 0o600, append(bytes.Clone(sound), sound...))},
		{"huge", write("huge", 0o600, bytes.Repeat([]byte("x"), 1<<20))},
		{"another kind of key", write("ec", 0o600, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: ecDER}))},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := LoadID(c.path)
			if !errors.Is(err, ErrKeyFile) {
				t.Errorf("error = %v, want ErrKeyFile", err)
			}
		})
	}
}
