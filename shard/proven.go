package shard

import (
	"encoding/binary"
	"hash/maphash"
	"sync"

	"arborist/document"
)

// maxProven is how many texts a set remembers to be sound, at about 20 bytes each.
const maxProven = 1 << 19

// A provenSet remembers of stored texts, by a hash of all their bytes as they lie
// in the file, that they decode to what their roots name: whoever serves a text to
// a thousand followers decodes and hashes it once. What a disk has damaged has
// another hash. Its 64 bits are of this process alone, and so is the set. It is safe
// for concurrent use.
type provenSet struct {
	seed maphash.Seed

	mu     sync.Mutex
	hashes map[uint64]struct{} // guarded by mu
}

func newProvenSet() *provenSet {
	return &provenSet{seed: maphash.MakeSeed(), hashes: make(map[uint64]struct{})}
}

// A rowHash hashes the frames of one document.
type rowHash struct{ h maphash.Hash }

func (p *provenSet) hash(root document.Root) *rowHash {
	r := new(rowHash)
	r.h.SetSeed(p.seed)
	r.h.Write(root[:])
	return r
}

// add adds the frame that starts with a chunk.
func (r *rowHash) add(first int64, data []byte) {
	var place [16]byte
	binary.LittleEndian.PutUint64(place[:8], uint64(first))
	binary.LittleEndian.PutUint64(place[8:], uint64(len(data)))
	r.h.Write(place[:])
	r.h.Write(data)
}

// has reports whether frames are known to be sound.
func (p *provenSet) has(r *rowHash) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.hashes[r.h.Sum64()]
	return ok
}

// keep remembers that frames are sound. Where there is no room, another one is
// forgotten.
func (p *provenSet) keep(r *rowHash) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.hashes) >= maxProven {
		for h := range p.hashes {
			delete(p.hashes, h)
			break
		}
	}
	p.hashes[r.h.Sum64()] = struct{}{}
}
