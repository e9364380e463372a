package peer

import (
	"sync"
	"sync/atomic"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// maxTraffic bounds how many peers are counted for. A count of a peer beyond
// that starts anew with its next connection.
const maxTraffic = 4096

// A traffic counts the bytes of corpora that went to and came from each peer
// since the node started.
type traffic struct {
	mu    sync.Mutex
	peers map[libpeer.ID]*byteCount
}

// A byteCount counts the bytes of one peer.
type byteCount struct{ in, out atomic.Int64 }

func newTraffic() *traffic { return &traffic{peers: make(map[libpeer.ID]*byteCount)} }

func (t *traffic) of(id libpeer.ID) *byteCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.peers[id]
	if c == nil {
		for other := range t.peers {
			if len(t.peers) < maxTraffic {
				break
			}
			delete(t.peers, other) // streams that are open count on, unseen
		}
		c = new(byteCount)
		t.peers[id] = c
	}
	return c
}
