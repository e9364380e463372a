package peer

import (
	"testing"
)

func TestSyncBringsAWholeCorpus(t *testing.T) {
	for name, listen := range map[string][]string{"TCP": listenTCP, "QUIC": listenQUIC} {
		t.Run(name, func(t *testing.T) {
			a, b := newNode(t).up(listen), newNode(t).up(nil)
			a.publish("main", entriesOf(t, "doc:/x", 600, 3000)...)
			a.publish("main", entryOf(t, "doc:/x/3", "another version of three"), entryOf(t, "doc:/new", textOf("doc:/x/7", 3000)))
			a.publish("main", entryOf(t, "doc:/x/3", "yet another version of three"))
			a.withdraw("main", "doc:/x/5")

			var last Progress
			res, err := b.peer.Sync(t.Context(), a.addr(), "main", func(p Progress) { last = p })
			if err != nil {
				t.Fatal(err)
			}
			if res.Documents != 602 || res.Verified < 602 || res.Resumed > 1 || res.Size != 604 || res.Origin != a.origin("main") {
				t.Errorf("result = %+v, want 602 documents, 604 records", res)
			}
			if last.Documents != 604 || last.Total != 604 || last.Bytes != res.Bytes {
				t.Errorf("last progress = %+v, want 604 of 604 records and %d bytes", last, res.Bytes)
			}
			sameCorpus(t, a, b, "main")

			again := b.sync(a.id, "main")
			if again.Documents != 0 || again.Verified != 0 || again.Bytes != 0 || again.Size != 604 {
				t.Errorf("second sync = %+v, want nothing transferred", again)
			}
		})
	}
}
