package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"arborist/daemon/api"
	"arborist/shard"
)

// A Home is the folder that holds a node: docs/cli.md has its layout.
type Home string

// Paths inside a home.
func (h Home) Config() string  { return filepath.Join(string(h), "config.toml") }
func (h Home) Lock() string    { return filepath.Join(string(h), "lock") }
func (h Home) Reserve() string { return filepath.Join(string(h), "reserve") }
func (h Home) Socket() string  { return filepath.Join(string(h), "arborist.sock") }
func (h Home) Shards() string  { return filepath.Join(string(h), "shards") }
func (h Home) Keys() string    { return filepath.Join(string(h), "keys") }
func (h Home) PeerKey() string { return filepath.Join(h.Keys(), "peer.key") }

// CorpusKey is the signing key of one of our own corpora.
func (h Home) CorpusKey(name string) string {
	return filepath.Join(h.Keys(), "corpus-"+name+".key")
}

// CorpusHead keeps the greatest head that the key of an own corpus has signed.
func (h Home) CorpusHead(name string) string {
	return filepath.Join(h.Keys(), "corpus-"+name+".head")
}

// WitnessKey is the key that this node cosigns heads with, where it is a witness.
func (h Home) WitnessKey() string { return filepath.Join(h.Keys(), "witness.key") }

// NetworkKey is the key of the private network, where the node is in one.
func (h Home) NetworkKey() string { return filepath.Join(h.Keys(), "network.key") }

// Peers holds what is remembered of peers: see [peer.Table].
func (h Home) Peers() string { return filepath.Join(string(h), "peers.json") }

// CrawlDB is the private crawl db unless the caller or CRAWL_DB names another.
func (h Home) CrawlDB() string { return filepath.Join(string(h), "crawl", "web.db") }

// Private holds whatever is derived from private data.
func (h Home) Private() string { return filepath.Join(string(h), "private") }

// Attached holds verified copies of the foreign files that queries search too.
func (h Home) Attached() string { return filepath.Join(string(h), "attached") }

// Cache holds what can be made anew at any time: no backup has it.
func (h Home) Cache() string { return filepath.Join(string(h), "cache") }

// Quarantine holds what a repair took out.
func (h Home) Quarantine() string { return filepath.Join(h.Private(), "quarantine") }

// Evidence holds what is kept against publishers, one file each.
func (h Home) Evidence() string { return filepath.Join(string(h), "evidence") }

var (
	// ErrNoStore: the folder is not a home.
	ErrNoStore = errors.New("no store here")
	// ErrNewer: a newer version of Arborist made the home.
	ErrNewer = errors.New("made by a newer version of arborist")
)

// check says whether the folder is a home that this version can open, and
// returns its configuration.
func (h Home) check() (Config, error) {
	cfg, err := readConfig(h.Config())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cfg, api.NewError(api.CodeNoStore, fmt.Errorf("open %s: %w", h, ErrNoStore),
			fmt.Sprintf("make one: arborist init --home %s", h))
	case err != nil:
		return cfg, err
	case cfg.Format > homeFormat:
		return cfg, api.NewError(api.CodeNewer,
			fmt.Errorf("open %s: %w (format %d, this one knows %d)", h, ErrNewer, cfg.Format, homeFormat),
			"use the newer version, or another --home")
	}
	return cfg, nil
}

// makeFolders makes the home's folders, none of them open to other users, and
// makes their names durable.
func (h Home) makeFolders() error {
	for _, dir := range []string{string(h), h.Keys(), h.Private(), filepath.Dir(h.CrawlDB())} {
		if err := shard.MakeFolder(dir); err != nil {
			return fmt.Errorf("make home: %w", err)
		}
	}
	return nil
}
