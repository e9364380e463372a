package peer

import "testing"

// A large document on a slow line is not silence: what has come of it is told
// while it comes, and in the end nothing is counted twice.
func TestProgressIsToldWhileALargeDocumentComes(t *testing.T) {
	const size = 1 << 20
	a := newNode(t).up(listenTCP)
	b := newNode(t).up(nil, func(c *Config) { c.MaxDownload, c.NoCompression = size/8, true })
	a.publish("main", entriesOf(t, "doc:/x", 2, size)...)
	var told []Progress
	res, err := b.peer.Sync(t.Context(), a.addr(), "main", func(p Progress) {
		if p.Stage == "fetch" {
			told = append(told, p)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	partly, last := false, int64(0)
	for _, p := range told {
		partly = partly || p.Documents == 0 && 0 < p.Bytes && p.Bytes < res.Bytes/2
		if p.Bytes < last || p.Bytes > res.Bytes {
			t.Errorf("%d bytes are told after %d, and %d came", p.Bytes, last, res.Bytes)
		}
		last = p.Bytes
	}
	if !partly {
		t.Errorf("nothing was told while the first document came, of %d bytes: %+v", res.Bytes, told)
	}
}
