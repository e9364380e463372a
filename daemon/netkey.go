package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"arborist/daemon/api"
	"arborist/peer"
)

// networkKeyFile returns the key file of the private network, or nothing in the
// open one: the file alone decides.
func (n *Node) networkKeyFile() (string, error) {
	_, err := peer.LoadNetworkKey(n.home.NetworkKey())
	switch {
	case err == nil:
		return n.home.NetworkKey(), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", explain(err)
	case n.cfg.Peer.PrivateNetwork:
		return "", n.missingNetworkKey(err)
	}
	return "", nil
}

func (n *Node) missingNetworkKey(err error) error {
	return api.NewError(api.CodeInvalid, fmt.Errorf("start the network: config.toml demands a private one, and its key is missing: %w", err),
		"copy keys/network.key from another node of the network, mode 0600; or make a new network: arborist peer network-key --new")
}

// networkProblem says what keeps this node from every peer, and nobody would
// hear of before it is needed: a private network whose key cannot be used. Who
// may read the file is said with those of the other keys.
func (n *Node) networkProblem(exposed []string) (problems []string) {
	_, err := n.networkKeyFile()
	if err == nil || slices.ContainsFunc(exposed, func(p string) bool { return strings.Contains(p, n.home.NetworkKey()) }) {
		return nil
	}
	var told *api.Error
	if errors.As(err, &told) && told.Hint != "" {
		return []string{told.Message + ": " + told.Hint}
	}
	return []string{err.Error()}
}

// NetworkKey implements [api.Neighbourhood]. A key that it makes counts from the
// next start on: connections of now were made in the other network.
func (n *Node) NetworkKey(_ context.Context, req api.NetworkKeyRequest) (api.NetworkKeyResult, error) {
	path := n.home.NetworkKey()
	if req.New {
		switch err := peer.CreateNetworkKey(path); {
		case errors.Is(err, fs.ErrExist):
			return api.NetworkKeyResult{}, api.NewError(api.CodeDenied, err, "move the file away first, to leave that network for a new one")
		case err != nil:
			return api.NetworkKeyResult{}, explain(err)
		}
	}
	mark, err := peer.LoadNetworkKey(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && n.cfg.Peer.PrivateNetwork:
		return api.NetworkKeyResult{}, n.missingNetworkKey(err)
	case errors.Is(err, fs.ErrNotExist):
		return api.NetworkKeyResult{}, nil
	}
	return api.NetworkKeyResult{File: path, Fingerprint: mark, New: req.New}, explain(err)
}
