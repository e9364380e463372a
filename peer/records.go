package peer

import (
	"context"
	"strings"
	"sync"

	"github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"
)

const (
	// maxRecords bounds the records that this node keeps for the directory:
	// about 30 MB. On paper 10⁵ nodes that share 10⁶ corpora keep 200 each.
	maxRecords = 100_000
	// maxRecordsOfPeer bounds how many of them name the same peer.
	maxRecordsOfPeer = 4096
)

// A recordStore keeps the directory's records in memory. A flood can push out
// records and do nothing else: what one peer is named in beyond its share is
// not kept, and when all is full any record makes room for a new one. Those that
// matter are told again.
type recordStore struct {
	mu  sync.Mutex
	all *datastore.MapDatastore
	of  map[string]int // records by the peer that is named
	has map[datastore.Key]struct{}
}

var _ datastore.Batching = (*recordStore)(nil)

func newRecords() *recordStore {
	return &recordStore{all: datastore.NewMapDatastore(), of: make(map[string]int), has: make(map[datastore.Key]struct{})}
}

// named returns the peer that a key names, its last part.
func named(k datastore.Key) string {
	s := k.String()
	return s[strings.LastIndexByte(s, '/')+1:]
}

// Put implements [datastore.Write].
func (r *recordStore) Put(ctx context.Context, k datastore.Key, value []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.has[k]; !known {
		if r.of[named(k)] >= maxRecordsOfPeer {
			return nil // told as kept: who asks too much learns nothing of it
		}
		for other := range r.has {
			if len(r.has) < maxRecords {
				break
			}
			r.drop(ctx, other)
		}
		r.has[k] = struct{}{}
		r.of[named(k)]++
	}
	return r.all.Put(ctx, k, value)
}

// Delete implements [datastore.Write].
func (r *recordStore) Delete(ctx context.Context, k datastore.Key) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(ctx, k)
	return nil
}

// drop forgets a record. The caller holds mu.
func (r *recordStore) drop(ctx context.Context, k datastore.Key) {
	if _, known := r.has[k]; !known {
		return
	}
	delete(r.has, k)
	if who := named(k); r.of[who] > 1 {
		r.of[who]--
	} else {
		delete(r.of, who)
	}
	_ = r.all.Delete(ctx, k) // a map: it cannot fail
}

// Get implements [datastore.Read].
func (r *recordStore) Get(ctx context.Context, k datastore.Key) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Get(ctx, k)
}

// Has implements [datastore.Read].
func (r *recordStore) Has(ctx context.Context, k datastore.Key) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Has(ctx, k)
}

// GetSize implements [datastore.Read].
func (r *recordStore) GetSize(ctx context.Context, k datastore.Key) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.GetSize(ctx, k)
}

// Query implements [datastore.Read]. Its results are of the moment of the call.
func (r *recordStore) Query(ctx context.Context, q query.Query) (query.Results, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Query(ctx, q)
}

// Batch implements [datastore.Batching].
func (r *recordStore) Batch(context.Context) (datastore.Batch, error) {
	return datastore.NewBasicBatch(r), nil
}

// Sync implements [datastore.Datastore]: there is no disk.
func (*recordStore) Sync(context.Context, datastore.Key) error { return nil }

// Close implements [datastore.Datastore].
func (*recordStore) Close() error { return nil }
