package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// A node is an Arborist home with its daemon.
type node struct {
	b    *bench
	home string
	*process
	addr string
}

// newNode makes a home and starts its daemon.
func (b *bench) newNode(name string) (*node, error) {
	n := &node{b: b, home: filepath.Join(b.dir, name)}
	if _, err := n.run("init"); err != nil {
		return nil, err
	}
	return n, n.start()
}

func (n *node) start() (err error) {
	n.process, err = n.b.start(nil, "peer_id", n.b.program, "--home", n.home, "--json", "daemon", "--listen", "/ip4/127.0.0.1/tcp/0")
	if err != nil {
		return err
	}
	var id struct{ Addrs []string }
	if err := json.Unmarshal([]byte(n.lines[len(n.lines)-1]), &id); err != nil {
		return err
	}
	n.addr = id.Addrs[0]
	return nil
}

func (n *node) run(args ...string) ([]byte, error) {
	return output(n.b.ctx, nil, n.b.program, append([]string{"--home", n.home}, args...)...)
}

// ask runs a command and reads its answer.
func (n *node) ask(into any, args ...string) error {
	out, err := n.run(append([]string{"--json"}, args...)...)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}

// add adds a folder to the main corpus.
func (n *node) add(dir string) error {
	_, err := n.run("add", "--base-uri", "file:bench/", dir)
	return err
}

// A synced is what peer sync answers.
type synced struct {
	Documents  int
	Bytes      int64
	Durable    int64 `json:"durable_ms"`
	Took       int64 `json:"took_ms"`
	serverCPU  float64
	clientCPU  float64
	wireSent   int64
	serverPeak int64
}

// sync has to sync the main corpus of from.
func (to *node) sync(from *node) (s synced, err error) {
	if err := from.forgetPeak(); err != nil { // of the adding
		return s, err
	}
	before, mine, sent := from.cpu(), to.cpu(), from.sent()
	if err := to.ask(&s, "peer", "sync", from.addr, "main"); err != nil {
		return s, err
	}
	s.serverCPU, s.clientCPU = (from.cpu() - before).Seconds(), (to.cpu() - mine).Seconds()
	s.wireSent, s.serverPeak = from.sent()-sent, from.peak()
	return s, nil
}

// sent returns how many bytes went to peers.
func (n *node) sent() (bytes int64) {
	var list struct {
		Peers []struct {
			BytesOut int64 `json:"bytes_out"`
		}
	}
	if n.ask(&list, "peer", "list") == nil {
		for _, p := range list.Peers {
			bytes += p.BytesOut
		}
	}
	return bytes
}

// A kubo is an IPFS repository with its daemon: no routing and no discovery, so
// that it speaks to the one peer that it is told of.
type kubo struct {
	b   *bench
	env []string
	*process
}

// newKubo makes a repository and starts its daemon. Synced has each block on the disk
// before it counts as stored, as a document of ours is; Kubo leaves that out by itself.
func (b *bench) newKubo(name string, synced bool) (*kubo, error) {
	k := &kubo{b: b, env: []string{"IPFS_PATH=" + filepath.Join(b.dir, name), "IPFS_TELEMETRY=off"}}
	for _, args := range [][]string{
		{"init", "--empty-repo"},
		{"bootstrap", "rm", "--all"},
		{"config", "Routing.Type", "none"},
		{"config", "--json", "Discovery.MDNS.Enabled", "false"},
		{"config", "--json", "AutoTLS.Enabled", "false"},
		{"config", "--json", "AutoConf.Enabled", "false"},
		{"config", "--json", "Addresses.Swarm", `["/ip4/127.0.0.1/tcp/0"]`},
		{"config", "Addresses.API", "/ip4/127.0.0.1/tcp/0"},
		{"config", "--json", "Addresses.Gateway", "[]"},
		{"config", "--json", "DNS.Resolvers", "{}"},
		{"config", "--json", "Routing.DelegatedRouters", "[]"},
		{"config", "--json", "Ipns.DelegatedPublishers", "[]"},
		{"config", "--json", "Bootstrap", "[]"},
	} {
		if _, err := k.run(args...); err != nil {
			return nil, err
		}
	}
	if synced {
		if err := k.sync(); err != nil {
			return nil, err
		}
	}
	return k, k.start()
}

// sync sets that blocks are on the disk before they count as stored.
func (k *kubo) sync() error {
	spec, err := k.run("config", "Datastore.Spec")
	if err != nil {
		return err
	}
	synced := strings.Replace(spec, `"sync": false`, `"sync": true`, 1)
	if synced == spec {
		return fmt.Errorf("the datastore of %s cannot be synced: %s", k.b.kubo, spec)
	}
	_, err = k.run("config", "--json", "Datastore.Spec", synced)
	return err
}

func (k *kubo) start() (err error) {
	k.process, err = k.b.start(k.env, "Daemon is ready", k.b.kubo, "daemon")
	return err
}

func (k *kubo) run(args ...string) (string, error) {
	out, err := output(k.b.ctx, k.env, k.b.kubo, args...)
	return strings.TrimSpace(string(out)), err
}

// addr returns where it listens, with its peer ID.
func (k *kubo) addr() (string, error) {
	out, err := k.run("id", "-f", "<addrs>")
	for _, a := range strings.Fields(out) {
		if strings.HasPrefix(a, "/ip4/127.0.0.1/tcp/") {
			return a, nil
		}
	}
	return out, err
}
