package peer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

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

	arriving atomic.Int64 // bytes of text that have come, of documents that the storer has not taken
}

// A bundle is one entry bundle under way.
type bundle struct {
	index uint64
	items chan *item // in the order of the log; closed at the end
	err   error      // why it ended early; read after items is closed

	reserved bool // holds the memory for all its documents

	// How far it is. Another source goes on here where one fails.
	all     []*item // its records, once they are verified
	missing []bool  // by record: lists a document that is not here
	next    int     // first record that was not handed on
}

// An item is one record, with its document where it lists one.
type item struct {
	line    []byte
	record  proof.Record
	fetched bool // from a source, as opposed to found here
	held    bool // its bytes are held in the budget

	old      *document.Header // a version that is here and that a delta can be from, or nil
	whole    bool             // there is no delta
	received int64            // bytes of its text that came from a source

	ready chan struct{} // closed when doc, came and err are set
	doc   *document.Document
	came  [][]byte // frames of its text: see shard.Arrival
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

// run starts a goroutine a bundle, as many at a time as there are slots, and
// returns when all have ended.
func (f *fetcher) run() {
	defer close(f.order)
	defer f.hashes.Wait()
	var workers sync.WaitGroup
	defer workers.Wait()
	slots := newSlots(len(f.pool.members), f.streams)
	for index := f.from / tileWidth; index*tileWidth < f.tree.size; index++ {
		b := &bundle{index: index, items: make(chan *item, tileWidth)}
		select {
		case <-slots.free:
		case <-f.ctx.Done():
			return
		}
		select {
		case f.order <- b:
		case <-f.ctx.Done():
			return
		}
		workers.Go(func() {
			began := time.Now()
			defer func() { slots.leave(time.Since(began)) }()
			b.err = f.fetch(b)
			close(b.items)
		})
	}
}

// width returns how many records the log has of a bundle.
func (f *fetcher) width(index uint64) int {
	return int(min(f.tree.size-index*tileWidth, tileWidth))
}

// sentAgain is how much text that is here may come once more, in front of the
// first that is missing, in bytes.
const sentAgain = 64 << 10

// fetch reads one bundle and its documents, from one source after the other
// until one has given all of it.
func (f *fetcher) fetch(b *bundle) error {
	return f.pool.try(f.ctx, func(src *source) error { return f.fetchFrom(src, b) })
}

func (f *fetcher) fetchFrom(src *source, b *bundle) error {
	if b.all == nil {
		if err := f.begin(src, b); err != nil {
			return err
		}
	}
	packed := b.packed(src)
	for b.next < len(b.all) {
		var err error
		it := b.all[b.next]
		switch {
		case !b.missing[b.next]:
			err = f.local(b)
		case packed && (b.reserved || src.docless.Load()):
			return f.fetchPack(src, b)
		case it.byDelta(src):
			var made bool
			if made, err = f.fetchDelta(src, b); err == nil && !made {
				it.whole = true
				packed = b.packed(src)
			}
		default:
			err = f.fetchDoc(src, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// packed reports whether what is missing is to come as a pack. That sends what is
// here once more, up to half of what is needed; one by one costs a request each. But
// it begins with what is here: on a line that breaks off again and again nothing else
// might ever come.
func (b *bundle) packed(src *source) bool {
	var need, whole, before int64
	for i, it := range b.all {
		if it.record.Op == proof.OpWithdraw {
			continue
		}
		size := elementSize(it.record.Header)
		whole += size
		if i >= b.next && b.missing[i] && !it.byDelta(src) {
			need += size
		} else if need == 0 {
			before += size
		}
	}
	return 3*need >= 2*whole && before <= sentAgain
}

// byDelta reports whether the document of an item is to be asked for as a delta.
func (it *item) byDelta(src *source) bool { return it.old != nil && !it.whole && src.hasDeltas() }

// memory returns how many bytes of documents an item needs until it is sent on.
func (it *item) memory() (n int64) {
	if it.record.Op != proof.OpWithdraw {
		n = int64(it.record.Header.Bytes)
	}
	if it.old != nil {
		n += int64(it.old.Bytes)
	}
	return n
}

// begin reads the records of a bundle, finds what is missing, and takes the
// memory for its documents.
func (f *fetcher) begin(src *source, b *bundle) error {
	all, err := f.entries(src, b.index)
	if err != nil {
		return err
	}
	if start := b.index * tileWidth; start < f.from {
		b.next = int(f.from - start)
	}
	if b.missing, err = f.missing(all); err != nil {
		return err
	}
	if err := f.findOld(all, b); err != nil {
		return err
	}
	var memory int64
	for _, it := range all[b.next:] {
		memory += it.memory()
	}
	if b.reserved, err = f.budget.reserve(b.index, memory); err != nil {
		return err
	}
	b.all = all
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
func (f *fetcher) fetchPack(src *source, b *bundle) error {
	res := resource{kind: kindPack, corpus: f.corpus, index: b.index, width: len(b.all)}
	body, err := src.open(f.ctx, res)
	if err != nil {
		return err
	}
	defer body.Close()
	pack, start := packReader{r: body, frames: body.frames, arriving: &f.arriving}, b.next
	for i, it := range b.all {
		wanted := i >= start && b.missing[i]
		if it.record.Op != proof.OpWithdraw && !wanted {
			body.allow(it.record.Header.Bytes)
			if err := pack.skip(it.record.Header); err != nil && !errors.Is(err, ErrMissing) {
				return src.fail(f.ctx, res, err)
			}
		}
		switch {
		case i < start:
		case !wanted:
			err = f.local(b)
		default:
			err = f.take(src, b, res, body, &pack)
			if errors.Is(err, ErrMissing) {
				body.pause()
				err = f.fetchDoc(src, b)
			}
		}
		if err != nil {
			return err
		}
	}
	body.allow(0)
	return src.fail(f.ctx, res, pack.end())
}

// fetchDoc reads the next document of a bundle by itself: by its root, or where
// the source does not have that, as published trees need not, out of the pack.
func (f *fetcher) fetchDoc(src *source, b *bundle) error {
	if err := f.hold(b, b.all[b.next]); err != nil {
		return err
	}
	body, res, err := src.element(f.ctx, f.corpus, b.all[b.next].record.Header, f.place(b, b.next))
	if err != nil {
		return err
	}
	defer body.Close()
	pack := packReader{r: body, frames: body.frames, arriving: &f.arriving}
	if err := f.take(src, b, res, body, &pack); err != nil {
		return err
	}
	return src.fail(f.ctx, res, pack.end())
}

// place returns where record i of a bundle has its document.
func (f *fetcher) place(b *bundle, i int) place {
	return placeOf(resource{kind: kindPack, corpus: f.corpus, index: b.index, width: len(b.all)}, b.all, i)
}

// take reads the element of the next record and hands the record on; hashing
// the document goes on beside the reading of the next one.
func (f *fetcher) take(src *source, b *bundle, res resource, body *body, pack *packReader) error {
	it := b.all[b.next]
	header := it.record.Header
	body.pause() // the time that we wait for ourselves is not the source's
	if err := f.hold(b, it); err != nil {
		return err
	}
	body.allow(header.Bytes)
	text, came, err := pack.next(header)
	body.pause()
	if err != nil {
		return src.fail(f.ctx, res, err)
	}
	return f.verify(src, b, res, text, came, int64(header.Bytes))
}

// verify hands the next record on, and has its text hashed meanwhile, of which so
// many bytes were received. Came are the frames that it came in, or nil.
func (f *fetcher) verify(src *source, b *bundle, res resource, text []byte, came [][]byte, received int64) error {
	at := b.next
	it := b.all[at]
	header := it.record.Header
	it.fetched, it.received = true, received
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
			it.doc, it.err = f.again(src, res, b, at, err)
			it.received = int64(header.Bytes)
			f.arriving.Add(it.received - received)
			return
		}
		it.came = came
		f.pool.brought(src, uint64(received))
	})
	return f.send(b, it)
}

// again asks other sources for the document of record i of a bundle that one sent
// wrongly, and ends the use of that one.
func (f *fetcher) again(bad *source, res resource, b *bundle, i int, why error) (doc *document.Document, err error) {
	fault := bad.fail(f.ctx, res, fmt.Errorf("%w: %w", ErrTampered, why))
	f.pool.drop(bad, fault)
	if f.pool.lone() {
		return nil, fault
	}
	header, at := b.all[i].record.Header, f.place(b, i)
	err = f.pool.try(f.ctx, func(src *source) error {
		body, res, err := src.element(f.ctx, f.corpus, header, at)
		if err == nil {
			doc, err = src.readDocument(f.ctx, res, body, header)
		}
		if err == nil {
			f.pool.brought(src, header.Bytes)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(fault, err)
	}
	return doc, nil
}

// local hands on the next record, whose document is here already, or that has
// none.
func (f *fetcher) local(b *bundle) error {
	it := b.all[b.next]
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
		if err := f.budget.hold(b.index, it.memory()); err != nil {
			return err
		}
	}
	it.held = true
	return nil
}

func (f *fetcher) send(b *bundle, it *item) error {
	if it.old != nil { // nothing of it is needed any more
		f.budget.release(b.index, int64(it.old.Bytes))
		it.old = nil
	}
	select {
	case b.items <- it:
		b.next++
		return nil
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
}
