package peer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"arborist/document"
	"arborist/proof"
)

// A fetcher reads the entry bundles of a log and the documents that they list,
// several bundles at a time, and hands them on in the order of the log.
type fetcher struct {
	*syncer
	ctx     context.Context
	from    uint64       // first record wanted
	order   chan *bundle // in the order of the log
	budget  *budget
	hashing chan struct{} // one token per document being verified
	hashes  sync.WaitGroup
}

// A bundle is one entry bundle under way.
type bundle struct {
	index uint64
	items chan *item // in the order of the log; closed at the end
	err   error      // why it ended early; read after items is closed

	reserved bool // holds the memory for all its documents
}

// An item is one record, with its document where it lists one.
type item struct {
	line    []byte
	record  proof.Record
	at      resource // where the document came from, if it was fetched
	fetched bool     // from the source, as opposed to found here
	held    bool     // its bytes are held in the budget

	ready chan struct{} // closed when doc and err are set
	doc   *document.Document
	err   error
}

func newFetcher(ctx context.Context, s *syncer, from uint64) *fetcher {
	return &fetcher{
		syncer: s, ctx: ctx, from: from,
		order:   make(chan *bundle, 4*s.streams),
		budget:  newBudget(ctx, from/tileWidth),
		hashing: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
}

// run starts a goroutine a bundle, as many at a time as there are streams, and
// returns when all have ended.
func (f *fetcher) run() {
	defer close(f.order)
	defer f.hashes.Wait()
	var workers sync.WaitGroup
	defer workers.Wait()
	free := make(chan struct{}, f.streams)
	for index := f.from / tileWidth; index*tileWidth < f.tree.size; index++ {
		b := &bundle{index: index, items: make(chan *item, tileWidth)}
		select {
		case free <- struct{}{}:
		case <-f.ctx.Done():
			return
		}
		select {
		case f.order <- b:
		case <-f.ctx.Done():
			return
		}
		workers.Go(func() {
			defer func() { <-free }()
			b.err = f.fetch(b)
			close(b.items)
		})
	}
}

// width returns how many records the log has of a bundle.
func (f *fetcher) width(index uint64) int {
	return int(min(f.tree.size-index*tileWidth, tileWidth))
}

// fetch reads one bundle and its documents.
func (f *fetcher) fetch(b *bundle) error {
	all, err := f.entries(b.index)
	if err != nil {
		return err
	}
	skip := 0
	if start := b.index * tileWidth; start < f.from {
		skip = int(f.from - start)
	}
	missing, err := f.missing(all[skip:])
	if err != nil {
		return err
	}
	var need, whole, memory int64
	for i, it := range all {
		if it.record.Op == proof.OpWithdraw {
			continue
		}
		size := elementSize(it.record.Header)
		whole += size
		if i >= skip {
			memory += int64(it.record.Header.Bytes)
			if missing[i-skip] {
				need += size
			}
		}
	}
	if b.reserved, err = f.budget.reserve(b.index, memory); err != nil {
		return err
	}
	// A pack sends what is here once more, up to half of what is needed; one
	// by one costs a request each.
	if need > 0 && 3*need >= 2*whole {
		return f.fetchPack(b, all, skip, missing)
	}
	for i, it := range all[skip:] {
		if missing[i] {
			err = f.fetchDoc(b, it)
		} else {
			err = f.local(b, it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// missing says which of the items list a document that is not here.
func (f *fetcher) missing(items []*item) ([]bool, error) {
	missing := make([]bool, len(items))
	var roots []document.Root
	var at []int
	for i, it := range items {
		if it.record.Op != proof.OpWithdraw {
			roots = append(roots, it.record.Header.Root)
			at = append(at, i)
		}
	}
	has, err := f.shared.Has(f.ctx, roots)
	for i, ok := range has {
		missing[at[i]] = !ok
	}
	return missing, err
}

// fetchPack reads the pack of a bundle and takes the missing documents out of
// it as they arrive.
func (f *fetcher) fetchPack(b *bundle, all []*item, skip int, missing []bool) error {
	res := resource{kind: kindPack, corpus: f.corpus, index: b.index, width: len(all)}
	body, err := f.src.open(f.ctx, res)
	if err != nil {
		return err
	}
	defer body.Close()
	pack := packReader{r: body}
	for i, it := range all {
		wanted := i >= skip && missing[i-skip]
		if it.record.Op != proof.OpWithdraw && !wanted {
			body.allow(it.record.Header.Bytes)
			if err := pack.skip(it.record.Header); err != nil && !errors.Is(err, ErrMissing) {
				return f.src.fail(f.ctx, res, err)
			}
		}
		switch {
		case i < skip:
		case !wanted:
			err = f.local(b, it)
		default:
			err = f.take(b, it, res, body, &pack)
			if errors.Is(err, ErrMissing) {
				body.pause()
				err = f.fetchDoc(b, it)
			}
		}
		if err != nil {
			return err
		}
	}
	body.allow(0)
	return f.src.fail(f.ctx, res, pack.end())
}

// fetchDoc reads one document by its root.
func (f *fetcher) fetchDoc(b *bundle, it *item) error {
	res := resource{kind: kindDoc, corpus: f.corpus, root: it.record.Header.Root}
	body, err := f.src.open(f.ctx, res)
	if err != nil {
		return err
	}
	defer body.Close()
	pack := packReader{r: body}
	if err := f.take(b, it, res, body, &pack); err != nil {
		return err
	}
	return f.src.fail(f.ctx, res, pack.end())
}

// take reads the next element into the item and hands it on; hashing it goes
// on beside the reading of the next one.
func (f *fetcher) take(b *bundle, it *item, res resource, body *body, pack *packReader) error {
	header := it.record.Header
	body.pause() // the time that we wait for ourselves is not the source's
	if err := f.hold(b, it); err != nil {
		return err
	}
	body.allow(header.Bytes)
	text, err := pack.next(header)
	body.pause()
	if err != nil {
		return f.src.fail(f.ctx, res, err)
	}
	it.at, it.fetched = res, true
	select {
	case f.hashing <- struct{}{}:
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
	f.hashes.Go(func() {
		defer func() { <-f.hashing }()
		defer close(it.ready)
		var err error
		if it.doc, err = document.Verify(header, text); err != nil {
			it.err = f.src.fail(f.ctx, res, fmt.Errorf("%w: %w", ErrTampered, err))
		}
	})
	return f.send(b, it)
}

// local hands on an item whose document is here already, or that has none.
func (f *fetcher) local(b *bundle, it *item) error {
	defer close(it.ready)
	if it.record.Op == proof.OpWithdraw {
		return f.send(b, it)
	}
	if err := f.hold(b, it); err != nil {
		return err
	}
	var err error
	if it.doc, err = f.shared.Document(f.ctx, it.record.Header.Root); err != nil {
		return err
	}
	return f.send(b, it)
}

// hold reserves memory for the document of an item, once.
func (f *fetcher) hold(b *bundle, it *item) error {
	if !b.reserved && !it.held {
		if err := f.budget.hold(b.index, int64(it.record.Header.Bytes)); err != nil {
			return err
		}
	}
	it.held = true
	return nil
}

func (f *fetcher) send(b *bundle, it *item) error {
	select {
	case b.items <- it:
		return nil
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
}
