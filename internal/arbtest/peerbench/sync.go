package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"
)

// A fetched is how one program brought a tree from one daemon to another.
type fetched struct {
	took, server, client float64 // seconds
}

// kuboFetch has a second Kubo fetch and pin what the first one has of a folder.
func (b *bench) kuboFetch(dir string, synced bool) (f fetched, err error) {
	name := fmt.Sprintf("%s.kubo-%t", filepath.Base(dir), synced)
	from, err := b.newKubo(name+".from", false)
	if err != nil {
		return f, err
	}
	defer from.stop()
	to, err := b.newKubo(name+".to", synced)
	if err != nil {
		return f, err
	}
	defer to.stop()
	root, err := from.run("add", "-r", "-Q", "--raw-leaves", dir)
	if err != nil {
		return f, err
	}
	addr, err := from.addr()
	if err != nil {
		return f, err
	}
	if _, err := to.run("swarm", "connect", addr); err != nil {
		return f, err
	}
	server, client, began := from.cpu(), to.cpu(), time.Now()
	if _, err := to.run("pin", "add", "--progress=false", root); err != nil {
		return f, err
	}
	return fetched{time.Since(began).Seconds(), (from.cpu() - server).Seconds(), (to.cpu() - client).Seconds()}, nil
}

// compare fetches a folder with both programs and returns our two nodes, which run.
func (b *bench) compare(what, dir string, n int, bytes int64, rate, cpu string) (from, to *node, err error) {
	mb := float64(bytes) / 1e6
	var k, synced fetched
	if b.kubo != "" {
		if k, err = b.kuboFetch(dir, false); err != nil {
			return nil, nil, err
		}
		if synced, err = b.kuboFetch(dir, true); err != nil {
			return nil, nil, err
		}
		said := func(k fetched) string {
			return fmt.Sprintf("%.1f s: %.0f files/s, %.0f MB/s; CPU %.1f + %.1f s", k.took, float64(n)/k.took, mb/k.took, k.server, k.client)
		}
		row(what+", Kubo", said(k), "served + fetching")
		row("  Kubo that syncs its blocks to the disk", said(synced), "")
	}
	if from, err = b.newNode(filepath.Base(dir) + ".from"); err != nil {
		return nil, nil, err
	}
	if err = from.add(dir); err != nil {
		return nil, nil, err
	}
	if to, err = b.newNode(filepath.Base(dir) + ".to"); err != nil {
		return nil, nil, err
	}
	s, err := to.sync(from)
	if err != nil {
		return nil, nil, err
	}
	if s.Documents != n {
		return nil, nil, fmt.Errorf("%d documents came, want %d", s.Documents, n)
	}
	durable, took := float64(s.Durable)/1e3, float64(s.Took)/1e3
	row(what+", verified and durable", fmt.Sprintf("%.1f s: %.0f docs/s, %.0f MB/s; CPU %.1f + %.1f s", durable, float64(n)/durable, mb/durable, s.serverCPU, s.clientCPU), "")
	row("  searchable / durable", fmt.Sprintf("%.2f x (%.1f s)", took/durable, took), "<= 2 x")
	row("  served side, peak memory", fmt.Sprintf("%d MiB", s.serverPeak>>20), "")
	if b.kubo != "" {
		row("  rate / Kubo's", fmt.Sprintf("%.2f x; %.2f x that of one that syncs", k.took/durable, synced.took/durable), rate)
		row("  served side CPU / Kubo's", fmt.Sprintf("%.2f x", s.serverCPU/k.server), cpu)
	}
	return from, to, nil
}

// small syncs many small documents, and then again after one in a hundred changed.
func (b *bench) small() error {
	dir := filepath.Join(b.dir, "small")
	bytes, err := tree(dir, b.docs, 1, small)
	if err != nil {
		return err
	}
	from, to, err := b.compare(fmt.Sprintf("%d documents of 2-8 KiB (%d MB)", b.docs, bytes/1e6), dir, b.docs, bytes, ">= 5 x", "<= 0.2 x")
	if err != nil {
		return err
	}
	defer from.stop()
	defer to.stop()
	w, changed := newWriter(99), 0
	for i := 0; i < b.docs; i += 100 {
		text := w.text(small(w.r))
		if err := writeDocument(dir, i+w.r.IntN(min(100, b.docs-i)), text); err != nil {
			return err
		}
		changed += len(text)
	}
	if err := from.add(dir); err != nil {
		return err
	}
	s, err := to.sync(from)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("second sync, %d documents changed (%d kB)", s.Documents, changed/1000), fmt.Sprintf("%d kB sent in %d ms", s.wireSent/1000, s.Took), "")
	row("  bytes sent / bytes changed", fmt.Sprintf("%.2f x", float64(s.wireSent)/float64(changed)), "<= 1.5 x")
	return nil
}

// big syncs few large documents.
func (b *bench) big() error {
	const each = 16 // MiB
	dir := filepath.Join(b.dir, "large")
	n := max(1, b.large/each)
	bytes, err := tree(dir, n, 2, func(*rand.Rand) int { return each << 20 })
	if err != nil {
		return err
	}
	from, to, err := b.compare(fmt.Sprintf("%d documents of %d MiB", n, each), dir, n, bytes, ">= 3 x", "")
	if err != nil {
		return err
	}
	from.stop()
	to.stop()
	return b.bare(bytes)
}
