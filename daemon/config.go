package daemon

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"arborist/daemon/api"
)

// homeFormat is the layout of a home that this version reads and writes.
const homeFormat = 1

// maxConfig is far more than any config.toml needs.
const maxConfig = 1 << 20

// A Config is config.toml. A missing key has the default that its comment
// names; an unknown one is refused, because it is most likely a typing error.
type Config struct {
	// Format is the layout of the home.
	Format int `toml:"format"`
	Peer   struct {
		// Listen holds the multiaddrs that peers can reach. Default: TCP and
		// QUIC on all interfaces at port 4707, or at a free one where that is
		// taken.
		Listen []string `toml:"listen"`
		// Announce holds multiaddrs at which others reach this node and which it
		// does not listen at itself: of a router that hands port 4707 on, of a
		// cloud machine or a proxy. Default: none.
		Announce []string `toml:"announce"`
		// HeadsEveryMinutes is how often connected peers are asked for the
		// heads that they have of our corpora, 1 to 1440. Default: 30.
		HeadsEveryMinutes int `toml:"heads_every_minutes"`
		// PrivateNetwork refuses to start without keys/network.key. Default: the
		// node is in a private network where that file is there.
		PrivateNetwork bool `toml:"private_network"`
		// Gossip tells connected peers of new heads of the corpora that are here,
		// and hears of theirs. Default: true.
		Gossip *bool `toml:"gossip"`
		// FollowAll brings every followed corpus up to date by itself, as
		// `peer follow` does for one. Default: false.
		FollowAll bool `toml:"follow_all"`
		// Bootstrap are nodes to enter the wide-area directory by, full
		// multiaddrs. Default: none, and the node takes no part in it.
		Bootstrap []string `toml:"bootstrap"`
		// DirectoryClient keeps no records of the directory for others: for
		// nodes that others cannot reach. Default: false.
		DirectoryClient bool `toml:"directory_client"`
		// LAN finds peers in the local network and lets them find this node, by
		// multicast DNS. Default: false.
		LAN bool `toml:"lan"`
		// HolePunching lets relays bring this node and others together and asks
		// peers which of our addresses they can reach. Default: false.
		HolePunching bool `toml:"hole_punching"`
		// Relays are nodes through which others reach this one. Default: none.
		Relays []string `toml:"relays"`
		// RelayService lets other nodes be reached through this one. Default:
		// false.
		RelayService bool `toml:"relay_service"`
		// AnswerQueries lets peers search what corpora here share. Default: false.
		AnswerQueries bool `toml:"answer_queries"`
		// HTTP is an address HOST:PORT at which plain HTTP serves the corpora too;
		// without a host it is one of this machine alone. Default: none.
		HTTP string `toml:"http"`
		// Gateway serves raw blocks of shared documents there too, as IPFS's
		// trustless gateway does. Default: false.
		Gateway bool `toml:"gateway"`
		// MaxDownloadKiB and MaxUploadKiB are the most KiB a second that all syncs
		// together take and that all peers together get. Default: no limit.
		MaxDownloadKiB int64 `toml:"max_download_kib"`
		MaxUploadKiB   int64 `toml:"max_upload_kib"`
		// Witnesses holds the verifier keys of the witnesses whose
		// cosignatures this node keeps, shows and serves. Default: none but
		// this node's own.
		Witnesses []string `toml:"witnesses"`
	} `toml:"peer"`
	Crawl struct {
		// UserAgent names the crawler to web servers. Default: the product's
		// name with Contact.
		UserAgent string `toml:"user_agent"`
		// Fetcher is how crawls get pages that do not say it: http, chromium,
		// hosted or auto. Default: http.
		Fetcher string `toml:"fetcher"`
		// Chromium is the browser's program. Default: chromium,
		// chromium-browser or google-chrome, whichever is found first.
		Chromium string `toml:"chromium"`
		// Contact is an address where a webmaster finds out who crawls.
		Contact string `toml:"contact"`
		// Tracking are query parameters to strip, "name" or "prefix*". Default:
		// those of package crawl/internal/weburl. An empty list strips none.
		Tracking []string `toml:"tracking"`
		// RobotsTTLMinutes is how long a robots.txt counts. Default: 60.
		RobotsTTLMinutes int `toml:"robots_ttl_minutes"`
		// HostedURL is the address of a rendering service, and HostedKeyFile
		// the file with its key, which only its owner may read. The environment
		// variable ARBORIST_HOSTED_KEY overrides the file. Default: none.
		HostedURL     string `toml:"hosted_url"`
		HostedKeyFile string `toml:"hosted_key_file"`
		// DB is the path of the private crawl db. Default: crawl/web.db. The
		// environment variable CRAWL_DB overrides it.
		DB string `toml:"db"`
	} `toml:"crawl"`
	Attach struct {
		// MaxBytes is the size of the largest file that attach takes. Default:
		// 64 GiB.
		MaxBytes int64 `toml:"max_bytes"`
	} `toml:"attach"`
}

const newConfig = `# Arborist home. The format number is Arborist's own: leave it.
format = 1

[peer]
# Addresses that peers can reach, for example ["/ip4/0.0.0.0/tcp/4707"].
# listen = []
# Where others reach it besides: a router's address that hands the port on, a proxy's.
# announce = ["/dns4/node.example.org/tcp/4707"]
# How often connected peers are asked which signed heads of your corpora they have.
# heads_every_minutes = 30
# Refuse to start outside a private network (arborist peer network-key).
# private_network = false
# Tell connected peers at once when a corpus has grown, and hear of it.
# gossip = true
# Fetch what is new in every followed corpus by itself (one: arborist peer follow).
# follow_all = false
# Nodes to enter the directory of who serves which corpus by, which then lists this node.
# They need this line too, and it may name the node itself.
# bootstrap = ["/ip4/192.0.2.1/tcp/4707/p2p/12D3KooW…"]
# directory_client = false
# Find peers in the local network, and be found there.
# lan = false
# Reach peers behind routers and firewalls; docs/privacy.md says what that tells whom.
# hole_punching = false
# relays = ["/ip4/192.0.2.1/tcp/4707/p2p/12D3KooW…"]
# relay_service = false
# Let peers search what your corpora and those that you follow share.
# answer_queries = false
# Serve the corpora over plain HTTP too, to whoever reaches this address.
# http = "127.0.0.1:4780"
# Serve their blocks there too, at /ipfs/CID, for IPFS tools (trustless gateway).
# gateway = false
# The most KiB a second that syncs take, and that peers get.
# max_download_kib = 1000
# max_upload_kib = 1000
# Keys of witnesses whose cosignatures this node keeps and shows, as
# arborist peer witness-key prints them.
# witnesses = []

[crawl]
# How pages are got: "http" as the server sends them, "chromium" each rendered
# in a headless browser, "auto" rendered where a page is an empty shell,
# "hosted" by a service, which then learns what you crawl.
# fetcher = "http"
# The program of that browser.
# chromium = "/usr/bin/chromium"
# A page or mail address that web servers are told, so that their owners can
# reach you.
# contact = "https://example.org/crawler"
# The whole user agent, in place of the product's name with the contact. The site's
# rules for robots are read under the name it begins with.
# user_agent = "ExampleBot/1.0 (+https://example.org/crawler)"
# Query parameters that are stripped from addresses, in place of the built-in list.
# tracking = ["utm_*", "fbclid", "gclid"]
# How long a robots.txt counts, 1 to 1440.
# robots_ttl_minutes = 60
# The rendering service (POST /v1/scrape, as Firecrawl has it), and a file of
# mode 0600 with its key.
# hosted_url = "https://api.example.com"
# hosted_key_file = "/home/me/.config/hosted.key"

[attach]
# The largest shard file that arborist attach takes.
# max_bytes = 68719476736
`

func readConfig(path string) (cfg Config, err error) {
	f, err := os.Open(path)
	if err != nil {
		return cfg, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return cfg, fmt.Errorf("read %s: %w", path, err)
	}
	if len(b) > maxConfig {
		return cfg, configError(path, fmt.Errorf("over %d bytes", maxConfig))
	}
	// The format is read leniently first: a home of a newer version must be
	// recognised as such, not refused for a key that this version lacks.
	var probe struct {
		Format int `toml:"format"`
	}
	if _, err := toml.NewDecoder(bytes.NewReader(b)).Decode(&probe); err != nil {
		return cfg, configError(path, err)
	}
	if probe.Format > homeFormat {
		return Config{Format: probe.Format}, nil
	}
	meta, err := toml.NewDecoder(bytes.NewReader(b)).Decode(&cfg)
	if err != nil {
		return cfg, configError(path, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		names := make([]string, len(unknown))
		for i, k := range unknown {
			names[i] = k.String()
		}
		return cfg, configError(path, fmt.Errorf("unknown key %s", strings.Join(names, ", ")))
	}
	if m := cfg.Peer.HeadsEveryMinutes; m < 0 || m > maxHeadsEvery || m == 0 && meta.IsDefined("peer", "heads_every_minutes") {
		return cfg, configError(path, fmt.Errorf("peer.heads_every_minutes is %d, want 1 to %d", m, maxHeadsEvery))
	}
	for key, kib := range map[string]int64{"max_download_kib": cfg.Peer.MaxDownloadKiB, "max_upload_kib": cfg.Peer.MaxUploadKiB} {
		if kib < 0 || kib > maxKiB || kib == 0 && meta.IsDefined("peer", key) {
			return cfg, configError(path, fmt.Errorf("peer.%s is %d, want 1 to %d", key, kib, maxKiB))
		}
	}
	if m := cfg.Attach.MaxBytes; m < 0 || m == 0 && meta.IsDefined("attach", "max_bytes") {
		return cfg, configError(path, fmt.Errorf("attach.max_bytes is %d, want 1 or more", m))
	}
	if err := cfg.checkCrawl(meta.IsDefined("crawl", "robots_ttl_minutes")); err != nil {
		return cfg, configError(path, err)
	}
	if cfg.Format < 1 {
		return cfg, configError(path, fmt.Errorf("format is %d, want %d", cfg.Format, homeFormat))
	}
	return cfg, nil
}

// checkCrawl refuses what cannot stand in a header, and what a name of a query
// parameter cannot be.
func (c Config) checkCrawl(ttl bool) error {
	for key, v := range map[string]string{"user_agent": c.Crawl.UserAgent, "contact": c.Crawl.Contact} {
		if len(v) > 500 || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("crawl.%s is %.100q, want up to 500 printable ASCII characters", key, v)
		}
	}
	for _, name := range c.Crawl.Tracking {
		if name == "" || name == "*" || strings.ContainsAny(name, "&=?#") || strings.Contains(strings.TrimSuffix(name, "*"), "*") {
			return fmt.Errorf("crawl.tracking names %.100q, want the name of a query parameter, or its beginning and a *", name)
		}
	}
	if m := c.Crawl.RobotsTTLMinutes; m < 0 || m > 24*60 || m == 0 && ttl {
		return fmt.Errorf("crawl.robots_ttl_minutes is %d, want 1 to %d", m, 24*60)
	}
	return nil
}

// maxKiB is a limit a second that is more than any line has.
const maxKiB = 1 << 30

func (c Config) gossip() bool { return c.Peer.Gossip == nil || *c.Peer.Gossip }

// defaultHeadsEvery and maxHeadsEvery are in minutes.
const defaultHeadsEvery, maxHeadsEvery = 30, 24 * 60

func (c Config) headsEvery() time.Duration {
	minutes := c.Peer.HeadsEveryMinutes
	if minutes == 0 {
		minutes = defaultHeadsEvery
	}
	return time.Duration(minutes) * time.Minute
}

// attachLimit is in bytes.
func (c Config) attachLimit() int64 {
	if c.Attach.MaxBytes == 0 {
		return 64 << 30
	}
	return c.Attach.MaxBytes
}

func configError(path string, err error) error {
	return api.NewError(api.CodeUsage, fmt.Errorf("read %s: %w", path, err), "correct the file, or remove the line to get the default")
}
