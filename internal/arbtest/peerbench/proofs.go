package main

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"arborist/proof"
)

// proofPaths returns the resources of the proofs of chunk 0 of all documents.
func (n *node) proofPaths() (paths []string, err error) {
	var show struct {
		Corpora []struct{ Origin string }
	}
	if err := n.ask(&show, "corpus", "list"); err != nil {
		return nil, err
	}
	var page struct {
		Hits []struct{ Root string }
	}
	seen := make(map[string]bool)
	for _, word := range []string{"ba", "ke", "li", "mo"} { // most documents begin so
		if err := n.ask(&page, "query", "--limit", "1000", "--any", word+"*"); err != nil {
			return nil, err
		}
		for _, h := range page.Hits {
			if !seen[h.Root] {
				seen[h.Root] = true
				paths = append(paths, show.Corpora[0].Origin+"/proof/"+h.Root+"/0")
			}
		}
	}
	if len(paths) == 0 {
		err = errors.New("no document was found")
	}
	return paths, err
}

// proofs asks for proofs as one peer with several streams, as fast as they come.
func (b *bench) proofs() error {
	n, paths, err := b.served("proofs")
	if err != nil {
		return err
	}
	defer n.stop()
	const streams, lasting = 8, 5 * time.Second
	g, err := newGuest(b.ctx, n.addr, streams)
	if err != nil {
		return err
	}
	defer g.host.Close()
	var served, refused atomic.Int64
	var all sync.WaitGroup
	began, before := time.Now(), n.cpu()
	for s := range streams {
		all.Go(func() {
			for i := s; time.Since(began) < lasting; i += streams {
				status, content, err := g.get(b.ctx, paths[i%len(paths)])
				switch {
				case err == nil && status == http.StatusTooManyRequests:
					refused.Add(1)
					time.Sleep(time.Millisecond)
				case err == nil && status == http.StatusOK:
					served.Add(1)
					if i%100 == 0 {
						if _, err := proof.Parse(content); err != nil {
							fmt.Println("peerbench: what came is no proof:", err)
						}
					}
				default:
					fmt.Println("peerbench: status", status, err)
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began).Seconds()
	row("proofs served to one peer", fmt.Sprintf("%.0f/s (%d over its limit); %.0f µs CPU each", float64(served.Load())/took, refused.Load(),
		(n.cpu()-before).Seconds()*1e6/float64(served.Load())), ">= 3,000/s")
	return nil
}
