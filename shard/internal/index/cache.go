package index

import "sync"

// A Cache keeps rows of one file in memory. Rows never change and their numbers
// are never used again, so it never has to forget one to be right. It is safe
// for concurrent use. A nil Cache keeps nothing.
type Cache struct {
	mu    sync.Mutex
	rows  map[int64][]byte
	size  int
	limit int // bytes
}

// rowCost is what a row costs beside its bytes.
const rowCost = 100

// NewCache returns a cache of at most limit bytes.
func NewCache(limit int) *Cache { return &Cache{rows: make(map[int64][]byte), limit: limit} }

func (c *Cache) get(row int64) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	data, ok := c.rows[row]
	return data, ok
}

func (c *Cache) put(row int64, data []byte) {
	if c == nil || len(data)+rowCost > c.limit/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.rows[row]; ok {
		return
	}
	c.rows[row] = data
	c.size += len(data) + rowCost
	// Any of them: Go's maps start each walk at another place.
	for old, d := range c.rows {
		if c.size <= c.limit {
			break
		}
		delete(c.rows, old)
		c.size -= len(d) + rowCost
	}
}
