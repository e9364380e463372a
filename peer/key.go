package peer

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/libp2p/go-libp2p/core/crypto"
	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"arborist/shard"
)

// maxKeyFile is far more than a PKCS #8 file of an Ed25519 key takes.
const maxKeyFile = 4 << 10

const pemType = "PRIVATE KEY"

// LoadID returns the peer ID of the identity file at path, in its text form. It
// makes the file (mode 0600, durable on return) where there is none; processes
// that start together get the same identity. A file that others can read, that
// is a link, or that holds anything but one Ed25519 key is refused with
// [ErrKeyFile].
func LoadID(path string) (string, error) {
	id, err := loadIdentity(path)
	if err != nil {
		return "", err
	}
	return id.id.String(), nil
}

// An identity is a node's Ed25519 key pair. The public half is the peer ID.
type identity struct {
	key ed25519.PrivateKey
	id  libpeer.ID
}

func loadIdentity(path string) (identity, error) {
	id, err := readIdentity(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	if err := createIdentity(path); err != nil {
		return identity{}, err
	}
	return readIdentity(path)
}

func newIdentity(key ed25519.PrivateKey) (identity, error) {
	pub, err := crypto.UnmarshalEd25519PublicKey(key.Public().(ed25519.PublicKey))
	if err != nil {
		return identity{}, fmt.Errorf("derive peer ID: %w", err)
	}
	id, err := libpeer.IDFromPublicKey(pub)
	if err != nil {
		return identity{}, fmt.Errorf("derive peer ID: %w", err)
	}
	return identity{key: key, id: id}, nil
}

func (i identity) libp2pKey() (crypto.PrivKey, error) {
	return crypto.UnmarshalEd25519PrivateKey(i.key)
}

func readIdentity(path string) (identity, error) {
	raw, err := readSecret(path, maxKeyFile)
	if err != nil {
		return identity{}, err
	}
	key, err := parseKey(raw)
	if err != nil {
		return identity{}, fmt.Errorf("read %s: %w: %w: restore it from a backup, or move it away to become a new peer", path, ErrKeyFile, err)
	}
	return newIdentity(key)
}

// readSecret reads a key file, at most limit+1 bytes of it, that is a plain
// file which nobody else can read.
func readSecret(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("read %s: %w: it is a symbolic link, move the file itself there", path, ErrKeyFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	switch {
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: %w: it is not a regular file", path, ErrKeyFile)
	case st.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("read %s: %w: others can read or change it (mode %04o): chmod 600 %s",
			path, ErrKeyFile, st.Mode().Perm(), path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return raw, nil
}

func parseKey(raw []byte) (ed25519.PrivateKey, error) {
	if len(raw) > maxKeyFile {
		return nil, fmt.Errorf("over %d bytes", maxKeyFile)
	}
	block, rest := pem.Decode(raw)
	if block == nil || block.Type != pemType || len(rest) != 0 {
		return nil, fmt.Errorf("not one PEM block %q", pemType)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a PKCS #8 key") // the cause could quote key bytes
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("a %T, not an Ed25519 key", parsed)
	}
	return key, nil
}

func createIdentity(path string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make identity: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("make identity: %w", err)
	}
	return createSecret(path, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}))
}

// createSecret makes a key file (0600, durable on return) unless there is one.
func createSecret(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make key folder: %w", err)
	}
	// CreateTemp makes the file with mode 0600 whatever the umask.
	tmp, err := os.CreateTemp(dir, ".identity-*")
	if err != nil {
		return fmt.Errorf("make key file: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	// Link and not rename: whoever comes second must not replace the key that
	// the first has started to use.
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write key file: %w", err)
	}
	return shard.SyncFolder(dir)
}
