package peer

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/libp2p/go-libp2p/core/pnet"
)

// networkKeyHead starts a key file: the form that other libp2p programs call a
// swarm key. The key follows as 64 hexadecimal digits and a line end.
const networkKeyHead = "/key/swarm/psk/1.0.0/\n/base16/\n"

// networkKeySize is the length of the key in bytes.
const networkKeySize = 32

// LoadNetworkKey reads the key file of a private network, and returns a short
// fingerprint that tells two keys apart and says nothing about either. The file
// must be readable by its owner alone and have one spelling, or it is refused
// with [ErrKeyFile]; where there is none, the error is [fs.ErrNotExist].
func LoadNetworkKey(path string) (fingerprint string, err error) {
	key, err := loadNetworkKey(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte("arborist-network/1\n"), key...))
	return hex.EncodeToString(sum[:8]), nil
}

// CreateNetworkKey makes the key file of a new private network (0600, durable
// on return). It replaces nothing: a file that is there is [fs.ErrExist].
func CreateNetworkKey(path string) error {
	if _, err := loadNetworkKey(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("make %s: %w", path, fs.ErrExist))
	}
	key := make([]byte, networkKeySize)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("make network key: %w", err)
	}
	return createSecret(path, encodeNetworkKey(key))
}

func encodeNetworkKey(key pnet.PSK) []byte {
	return []byte(networkKeyHead + hex.EncodeToString(key) + "\n")
}

func loadNetworkKey(path string) (pnet.PSK, error) {
	size := len(networkKeyHead) + 2*networkKeySize + 1
	raw, err := readSecret(path, int64(size))
	if err != nil {
		return nil, err
	}
	key, err := parseNetworkKey(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: %w: copy the file of another node of the private network", path, ErrKeyFile, err)
	}
	return key, nil
}

// parseNetworkKey parses what encodeNetworkKey gives and nothing else. Its
// errors quote nothing of the key.
func parseNetworkKey(raw []byte) (pnet.PSK, error) {
	digits, ok := bytes.CutPrefix(raw, []byte(networkKeyHead))
	if !ok {
		return nil, fmt.Errorf("it does not start with %q", networkKeyHead)
	}
	key, err := hex.DecodeString(string(bytes.TrimSuffix(digits, []byte("\n"))))
	if err != nil || len(key) != networkKeySize || !bytes.Equal(encodeNetworkKey(key), raw) {
		return nil, fmt.Errorf("want %d lower-case hexadecimal digits and a line end", 2*networkKeySize)
	}
	return key, nil
}
