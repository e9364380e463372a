package peer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

const (
	maxTablePeers = 1024             // peers that are remembered
	maxJoined     = 128              // of them, joined by the owner
	maxPeerAddrs  = 8                // addresses of one peer
	maxPeerServes = 64               // corpora of one peer
	maxListed     = 1024             // entries of the allow and of the deny list
	tableEvery    = 30 * time.Second // between writes of what changes all the time
)

// ErrTable: the file of known peers cannot be used as it stands.
var ErrTable = errors.New("the file of known peers is damaged")

// ErrListFull: the owner has named as many as there can be.
var ErrListFull = errors.New("the list is full")

// A Table is what a node remembers of peers: which ones its owner joined, where
// they were reached, how they behaved, and who may connect. It is one small
// file, so that it can be read, and a damaged one costs no corpus.
//
// What the owner says is durable when the call returns; what is noticed by the
// way is written every half minute and at the end. It is safe for concurrent
// use.
type Table struct {
	path string // empty: kept in memory alone
	now  func() time.Time

	mu      sync.Mutex
	peers   map[libpeer.ID]*record
	lists   tableLists
	follow  []string // origins, sorted
	changed bool     // since the last write
	written time.Time
}

// A record is what is known of one peer. All of it is guarded by Table.mu.
type record struct {
	addrs  []string  // it was reached at, last one first
	joined bool      // by the owner: it is reconnected to
	seen   time.Time // connected, the last time
	serves []string  // origins, sorted
	conduct
}

// tableLists are the owner's lists of who may connect: peer IDs and networks.
type tableLists struct{ allow, deny []string }

// OpenTable reads the table at path; where there is no file, it is empty. A
// file that is damaged is refused with [ErrTable]: it may hold a list of peers
// that must not connect.
func OpenTable(path string) (*Table, error) {
	t := newTable(path)
	raw, err := readTable(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		err = t.parse(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return t, nil
}

func newTable(path string) *Table {
	return &Table{path: path, now: time.Now, peers: make(map[libpeer.ID]*record)}
}

// of returns the record of a peer, and makes one where there is room or where a
// peer that matters less can make room. The caller holds mu.
func (t *Table) of(id libpeer.ID) *record {
	r := t.peers[id]
	if r == nil {
		if len(t.peers) >= maxTablePeers {
			t.forget()
		}
		r = new(record)
		t.peers[id] = r
	}
	return r
}

// forget drops the peer that matters least: one that is not joined, that is not
// kept away, and that was not seen for the longest time. Where a flood of bad
// peers fills the table, one of them. The caller holds mu.
func (t *Table) forget() {
	now := t.now()
	worth := func(r *record) int {
		switch {
		case r.joined:
			return 2
		case r.until.After(now):
			return 1
		}
		return 0
	}
	var least libpeer.ID
	var found *record
	for id, r := range t.peers {
		if found == nil || cmp.Or(cmp.Compare(worth(r), worth(found)), r.seen.Compare(found.seen)) < 0 {
			least, found = id, r
		}
	}
	delete(t.peers, least)
}

// join notes that the owner named a peer, and where.
func (t *Table) join(id libpeer.ID, addr string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	joined := 0
	for other, r := range t.peers {
		if r.joined && other != id {
			joined++
		}
	}
	if joined >= maxJoined {
		return fmt.Errorf("%w: %d peers are joined, leave one first", ErrListFull, joined)
	}
	r := t.of(id)
	r.joined, r.conduct = true, conduct{limits: r.limits} // the owner's word counts more
	r.reached(addr)
	return t.save()
}

// leave forgets that the owner named a peer, and reports whether it was known.
func (t *Table) leave(id libpeer.ID) (known bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.peers[id]
	if r == nil {
		return false, nil
	}
	r.joined, r.addrs = false, nil
	return true, t.save()
}

// met notes that a peer is connected; addr, if not empty, is where it was
// reached.
func (t *Table) met(id libpeer.ID, addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(id)
	r.seen = t.now()
	if addr != "" {
		r.reached(addr)
	}
	t.note()
}

func (r *record) reached(addr string) {
	r.addrs = slices.DeleteFunc(r.addrs, func(a string) bool { return a == addr })
	r.addrs = slices.Insert(r.addrs, 0, addr)
	r.addrs = r.addrs[:min(len(r.addrs), maxPeerAddrs)]
}

// serving notes that a peer serves corpora: its own word, good to ask it first.
func (t *Table) serving(id libpeer.ID, origins ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(id)
	for _, o := range origins {
		if i, known := slices.BinarySearch(r.serves, o); !known && len(r.serves) < maxPeerServes {
			r.serves = slices.Insert(r.serves, i, o)
		}
	}
	t.note()
}

// addrs returns where a peer was reached.
func (t *Table) addrs(id libpeer.ID) (all []ma.Multiaddr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.peers[id]; r != nil {
		for _, s := range r.addrs {
			if a, err := ma.NewMultiaddr(s); err == nil {
				all = append(all, a)
			}
		}
	}
	return all
}

// joinedBy reports whether the owner joined a peer.
func (t *Table) joinedBy(id libpeer.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.peers[id]
	return r != nil && r.joined
}

// reached returns the peers that may be connected to again: those of which an
// address is known, and that the owner joined or that serve something.
func (t *Table) reached() (ids []libpeer.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, r := range t.peers {
		if len(r.addrs) > 0 && (r.joined || len(r.serves) > 0) {
			ids = append(ids, id)
		}
	}
	return ids
}

// servedBy returns the origins of what a peer is known to serve.
func (t *Table) servedBy(id libpeer.ID) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.peers[id]; r != nil {
		return slices.Clone(r.serves)
	}
	return nil
}

// servers returns the peers that are known to serve a corpus, joined ones first.
func (t *Table) servers(origin string) []libpeer.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []libpeer.ID
	for id, r := range t.peers {
		if _, ok := slices.BinarySearch(r.serves, origin); ok {
			ids = append(ids, id)
		}
	}
	rank := func(id libpeer.ID) int {
		if t.peers[id].joined {
			return 0
		}
		return 1
	}
	slices.SortFunc(ids, func(a, b libpeer.ID) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	return ids
}
