package peer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// someIDs returns peer IDs that no two calls with other seeds share.
func someIDs(t testing.TB, n int) []libpeer.ID {
	t.Helper()
	ids := make([]libpeer.ID, n)
	for i := range ids {
		id, err := newIdentity(seedKey(i))
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = id.id
	}
	return ids
}

func tableAt(t testing.TB, path string) *Table {
	t.Helper()
	table, err := OpenTable(path)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestWhatTheOwnerSaysOfPeersOutlivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.json")
	ids := someIDs(t, 3)
	table := tableAt(t, path)
	for _, err := range []error{
		table.join(ids[0], "/ip4/192.0.2.1/tcp/1"), table.Put(ListDeny, ids[1].String()), table.Put(ListAllow, "192.0.2.0/24"),
		table.Put(ListDeny, "2001:db8::/32"), table.Drop(ListDeny, "2001:db8::/32"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	table.met(ids[2], "")
	table.serving(ids[2], ids[2].String()+"/main")
	table.fault(ids[2], faultBytes)
	if err := table.flush(true); err != nil {
		t.Fatal(err)
	}
	again := tableAt(t, path)
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v, want mode 0600", st, err)
	}
	if got := again.reached(); len(got) != 1 || got[0] != ids[0] || len(again.addrs(ids[0])) != 1 {
		t.Errorf("joined peers %v", got)
	}
	allow, deny := again.Lists()
	if fmt.Sprint(allow, deny) != fmt.Sprint([]string{"192.0.2.0/24"}, []string{ids[1].String()}) {
		t.Errorf("lists %v, %v", allow, deny)
	}
	if got := again.servers(ids[2].String() + "/main"); len(got) != 1 || got[0] != ids[2] {
		t.Errorf("servers %v", got)
	}
	// One file has one meaning: read and written, it is the same.
	raw, _ := os.ReadFile(path)
	if got := again.format(); string(got) != string(raw) {
		t.Errorf("read and written again:\n%s\nbefore:\n%s", got, raw)
	}
	if known, err := again.leave(ids[0]); !known || err != nil {
		t.Fatal(known, err)
	}
	if got := tableAt(t, path).reached(); len(got) != 0 {
		t.Errorf("joined peers after leaving: %v", got)
	}
}

func TestADamagedTableIsRefused(t *testing.T) {
	id := someIDs(t, 1)[0].String()
	peer := func(s string) string {
		return `{"format":1,"peers":[{"id":"` + id + `","joined":true,"addrs":[],"seen":"2026-11-01T12:00:00Z","serves":[]` + s + `}],"allow":[],"deny":[],"follow":[]}`
	}
	for name, bad := range map[string]string{
		"empty": "", "cut": `{"format":1,"peers":[`, "no format": `{}`, "unknown key": `{"format":1,"more":1}`,
		"more after it": `{"format":1} {}`, "a list entry that is none": `{"format":1,"deny":["nobody"]}`,
		"a network with host bits": `{"format":1,"deny":["192.0.2.1/24"]}`, "a corpus that is none": `{"format":1,"follow":["x"]}`,
		"faults below zero": peer(`,"faults":-1`), "a peer that is none": strings.Replace(peer(""), id, "x", 1),
		"an address that is none": strings.Replace(peer(""), `"addrs":[]`, `"addrs":["x"]`, 1),
		"a peer twice":            strings.Replace(peer(""), `"peers":[`, `"peers":[{"id":"`+id+`"},`, 1),
	} {
		path := filepath.Join(t.TempDir(), "peers.json")
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenTable(path); !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want ErrTable and the path", name, err)
		}
	}
	if err := newTable("").parse([]byte(peer(""))); err != nil {
		t.Errorf("a sound one: %v", err)
	}
	if err := newTable("").parse([]byte(`{"format":2}`)); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer one: %v, want ErrNewer", err)
	}
}

func FuzzParseTable(f *testing.F) {
	f.Add([]byte(`{"format":1,"peers":[],"allow":["192.0.2.0/24"],"deny":[],"follow":[]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		table := newTable("")
		if table.parse(raw) != nil {
			return
		}
		again := newTable("")
		if err := again.parse(table.format()); err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if !reflect.DeepEqual(again.lists, table.lists) || len(again.peers) != len(table.peers) {
			t.Error("what was read is another table when it is read again")
		}
	})
}

func TestAFloodOfPeersPushesOutNobodyThatCounts(t *testing.T) {
	table := newTable("")
	now := testTime
	table.now = func() time.Time { return now }
	ids := someIDs(t, 2*maxTablePeers)
	if err := table.join(ids[0], "/ip4/192.0.2.1/tcp/1"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		table.fault(ids[1], faultBytes)
	}
	for _, id := range ids[2:] {
		now = now.Add(10 * time.Millisecond)
		table.met(id, "")
	}
	if len(table.peers) > maxTablePeers {
		t.Errorf("%d peers are remembered, at most %d", len(table.peers), maxTablePeers)
	}
	if !table.joinedBy(ids[0]) || !table.away(ids[1]) {
		t.Error("the joined peer or the one that is kept away was forgotten")
	}
	for i := range maxJoined {
		if err := table.join(ids[i], "/ip4/192.0.2.1/tcp/1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.join(ids[maxJoined], "/ip4/192.0.2.1/tcp/1"); !errors.Is(err, ErrListFull) {
		t.Errorf("joined peer %d: %v, want ErrListFull", maxJoined+1, err)
	}
}

func TestFaultsAddUpAreForgivenAndKeepAwayLonger(t *testing.T) {
	var c conduct
	now := testTime
	if c.add(now, 60) {
		t.Error("kept away at 60")
	}
	if got := c.at(now.Add(forgiveIn)); got != 30 {
		t.Errorf("after an hour %g are left of 60, want 30", got)
	}
	for _, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		c.faults = 0
		if !c.add(now, awayAt) || c.until.Sub(now) != want {
			t.Errorf("kept away for %s, want %s", c.until.Sub(now), want)
		}
		if c.add(now, awayAt) {
			t.Error("kept away twice at a time")
		}
		now = c.until
	}
	c.times, c.faults = 60, 0
	if !c.add(now, awayAt) || c.until.Sub(now) != awayMost {
		t.Errorf("kept away for %s, want %s at most", c.until.Sub(now), awayMost)
	}
	// A clock that stood in the future when the file was written keeps nobody
	// away for years.
	table := newTable("")
	id := someIDs(t, 1)[0].String()
	err := table.parse([]byte(`{"format":1,"peers":[{"id":"` + id + `","until":"2100-01-01T00:00:00Z"}]}`))
	if left := time.Until(table.peers[someIDs(t, 1)[0]].until); err != nil || left > awayMost {
		t.Errorf("kept away for %s more, %v", left, err)
	}
}

func TestMissingPeersAreDialledEverLessOften(t *testing.T) {
	r, id, now := newRedialer(), someIDs(t, 1)[0], testTime
	var dials []time.Time
	for end := now.Add(3 * time.Hour); now.Before(end); now = now.Add(redialEvery) {
		if r.due(id, now) {
			dials = append(dials, now)
		}
	}
	if len(dials) < 20 || len(dials) > 40 {
		t.Errorf("%d dials in three hours", len(dials))
	}
	for i := 1; i < len(dials); i++ {
		gap := dials[i].Sub(dials[i-1])
		if most := redialMost*5/4 + redialEvery; gap > most {
			t.Errorf("dials %d and %d are %s apart, at most %s", i-1, i, gap, most)
		}
	}
	r.found(id)
	if r.due(id, now) || !r.due(id, now.Add(2*redialFirst)) {
		t.Error("a peer that was connected is not dialled soon again")
	}
}
