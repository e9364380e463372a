package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"arborist/daemon/api"
)

// A demo holds what the steps hand on to each other.
type demo struct {
	arborist, verifier string // programs
	docs, site, work   string // folders
	server             *http.Server
	siteURL            string
	a, b               node

	key     string  // verifier key of a's corpus main
	shared  api.Hit // a hit in what peers may read
	private api.Hit // a hit in the crawl
	proof   string  // file
	addrsOf map[*node][]string
}

func newDemo(bin, docs, site, work string) (*demo, error) {
	abs, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	d := &demo{
		arborist: filepath.Join(abs, "arborist"), verifier: filepath.Join(abs, "arborist-verify"),
		docs: docs, site: site, work: work,
		a: node{home: filepath.Join(work, "a")}, b: node{home: filepath.Join(work, "b")},
	}
	for _, p := range []string{d.arborist, d.verifier, docs, site} {
		if _, err := os.Stat(p); err != nil {
			return nil, fmt.Errorf("%w: run it as make demo", err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d.siteURL = "http://" + l.Addr().String() + "/"
	d.server = &http.Server{Handler: http.FileServer(http.Dir(site))}
	go d.server.Serve(l) // ends with close
	return d, nil
}

func (d *demo) close() error {
	return errors.Join(d.stop(&d.a), d.stop(&d.b), d.server.Close())
}

func (d *demo) makeHomes(ctx context.Context) error {
	for _, n := range []*node{&d.a, &d.b} {
		var res struct {
			PeerID string `json:"peer_id"`
			Shards int    `json:"shards"`
		}
		if err := d.ask(ctx, n, &res, "init"); err != nil {
			return err
		}
		say("init", "node %s with %d shards, peer %s", filepath.Base(n.home), res.Shards, res.PeerID)
	}
	return nil
}

func (d *demo) crawl(ctx context.Context) error {
	var res api.CrawlResult
	if err := d.ask(ctx, &d.a, &res, "crawl", "--ingest", "--fast", "--allow-net", "127.0.0.0/8", "--seed-url", d.siteURL); err != nil {
		return err
	}
	if res.Ingested == 0 {
		return errors.New("no page was ingested")
	}
	say("crawl", "%d pages of %s, served on loopback, %d into the private crawl db of a", res.Pages, d.site, res.Ingested)
	return nil
}

func (d *demo) add(ctx context.Context) error {
	var res api.AddResult
	if err := d.ask(ctx, &d.a, &res, "add", d.docs); err != nil {
		return err
	}
	say("add", "%d documents in %d chunks (%d bytes) of %s into a's corpus main, which peers may read", res.Documents, res.Chunks, res.Bytes, d.docs)
	return nil
}

// question has its words in documents on both sides of the wall. No passage has
// all of them, so the answer ranks passages with any.
const question = "goroutine synchronization checkpoint"

func (d *demo) query(ctx context.Context) error {
	var res api.QueryResult
	if err := d.ask(ctx, &d.a, &res, "query", "--limit", "100", question); err != nil {
		return err
	}
	for _, h := range res.Hits {
		switch {
		case h.Source == "shared" && d.shared.Rank == 0:
			d.shared = h
		case h.Source == "crawl" && d.private.Rank == 0:
			d.private = h
		}
	}
	if d.shared.Rank == 0 || d.private.Rank == 0 {
		return fmt.Errorf("%q was not found in both stores (%d hits)", question, len(res.Hits))
	}
	say("query", "%q: %d passages in one ranking, each verified, in %d ms", question, res.Total, res.TookMS)
	for _, h := range []api.Hit{d.shared, d.private} {
		say("", "#%d %s, chunk %d of %d: %.60q…", h.Rank, h.URI, h.Chunk, h.Chunks, h.Text)
		say("", "   %s, root %s, proof of %d bytes", h.Source, h.Root, len(h.Proof))
	}
	return nil
}

func (d *demo) prove(ctx context.Context) error {
	d.proof = filepath.Join(d.work, "passage.proof")
	_, err := output(exec.CommandContext(ctx, d.arborist, "--home", d.a.home, "--quiet",
		"prove", d.shared.Root.String(), fmt.Sprint(d.shared.Chunk), "-o", d.proof))
	if err != nil {
		return err
	}
	var key api.CorpusKeyResult
	if err := d.ask(ctx, &d.a, &key, "corpus", "key", "main"); err != nil {
		return err
	}
	d.key = key.Key
	return nil
}

// check runs the offline checker in an empty folder with an empty environment.
func (d *demo) check(ctx context.Context, file string) ([]byte, error) {
	empty, err := os.MkdirTemp(d.work, "empty-")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, d.verifier, "--key", d.key, file)
	cmd.Dir, cmd.Env = empty, []string{}
	return output(cmd)
}

func (d *demo) verify(ctx context.Context) error {
	out, err := d.check(ctx, d.proof)
	if err != nil {
		return err
	}
	statement, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	say("verify", "arborist-verify, with the file and the key alone: %s", statement)
	return nil
}

func (d *demo) tamper(ctx context.Context) error {
	b, err := os.ReadFile(d.proof)
	if err != nil {
		return err
	}
	// One letter of the passage, at the end of the file.
	b = bytes.Clone(b)
	b[len(b)-2] ^= 1
	bad := filepath.Join(d.work, "tampered.proof")
	if err := os.WriteFile(bad, b, 0o600); err != nil {
		return err
	}
	_, err = d.check(ctx, bad)
	if code := exitCode(err); code != 4 {
		return fmt.Errorf("exit code %d for a tampered proof, want 4 (%w)", code, err)
	}
	say("tamper", "the same file with one bit changed is refused (exit code 4)")
	return nil
}
