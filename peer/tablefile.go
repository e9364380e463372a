package peer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	ma "github.com/multiformats/go-multiaddr"

	"arborist/shard"
)

// maxTable is more than a table with everything full takes.
const maxTable = 16 << 20

// tableFormat is the form of the file: docs/formats.md.
const tableFormat = 1

type (
	tableFile struct {
		Format int          `json:"format"`
		Peers  []recordFile `json:"peers"`
		Allow  []string     `json:"allow"`
		Deny   []string     `json:"deny"`
		Follow []string     `json:"follow"`
	}
	recordFile struct {
		ID     string     `json:"id"`
		Joined bool       `json:"joined"`
		Addrs  []string   `json:"addrs"`
		Seen   time.Time  `json:"seen"`
		Serves []string   `json:"serves"`
		Faults float64    `json:"faults,omitempty"`
		Last   *time.Time `json:"last,omitempty"`
		Times  int        `json:"times,omitempty"`
		Until  *time.Time `json:"until,omitempty"`
	}
)

func readTable(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxTable {
		return nil, fmt.Errorf("%w: not a plain file of at most %d bytes", ErrTable, maxTable)
	}
	return io.ReadAll(io.LimitReader(f, maxTable))
}

// parse fills an empty table.
func (t *Table) parse(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var file tableFile
	if err := d.Decode(&file); err != nil {
		return fmt.Errorf("%w: %w", ErrTable, err)
	}
	switch {
	case d.More():
		return fmt.Errorf("%w: something follows its end", ErrTable)
	case file.Format > tableFormat:
		return fmt.Errorf("%w: format %d", ErrNewer, file.Format)
	case file.Format != tableFormat, len(file.Peers) > maxTablePeers, len(file.Allow) > maxListed, len(file.Deny) > maxListed, len(file.Follow) > maxListed:
		return fmt.Errorf("%w: format %d with %d peers and %d, %d, %d entries", ErrTable, file.Format, len(file.Peers), len(file.Allow), len(file.Deny), len(file.Follow))
	}
	for _, list := range []struct{ from, to *[]string }{{&file.Allow, &t.lists.allow}, {&file.Deny, &t.lists.deny}} {
		for _, entry := range *list.from {
			if _, err := parseEntry(entry); err != nil {
				return fmt.Errorf("%w: %w", ErrTable, err)
			}
			*list.to = insert(*list.to, entry)
		}
	}
	for _, origin := range file.Follow {
		if _, err := ParseCorpusID(origin); err != nil {
			return fmt.Errorf("%w: %w", ErrTable, err)
		}
		t.follow = insert(t.follow, origin)
	}
	for _, r := range file.Peers {
		if err := t.parsePeer(r); err != nil {
			return fmt.Errorf("%w: peer %.64q: %w", ErrTable, r.ID, err)
		}
	}
	return nil
}

func (t *Table) parsePeer(f recordFile) error {
	id, err := parsePeerID(f.ID)
	if err != nil {
		return err
	}
	if len(f.Addrs) > maxPeerAddrs || len(f.Serves) > maxPeerServes || f.Faults < 0 || f.Faults > 1e6 || f.Times < 0 || t.peers[id] != nil {
		return errors.New("it stands there twice, or has more of something than there can be")
	}
	r := &record{joined: f.Joined, seen: f.Seen, conduct: conduct{faults: f.Faults, times: f.Times}}
	if f.Last != nil {
		r.last = *f.Last
	}
	if f.Until != nil {
		r.until = *f.Until
	}
	// A clock that stood in the future must not keep anyone away for years.
	if latest := t.now().Add(awayMost); r.until.After(latest) {
		r.until = latest
	}
	for _, a := range f.Addrs {
		if _, err := ma.NewMultiaddr(a); err != nil {
			return err
		}
		r.addrs = append(r.addrs, a)
	}
	for _, origin := range f.Serves {
		if _, err := ParseCorpusID(origin); err != nil {
			return err
		}
		r.serves = insert(r.serves, origin)
	}
	t.peers[id] = r
	return nil
}

// parseEntry parses an entry of the allow and deny lists: a peer ID or a network.
func parseEntry(s string) (Access, error) {
	if id, err := parsePeerID(s); err == nil {
		return Access{AllowPeers: []string{id.String()}}, nil
	}
	net, err := netip.ParsePrefix(s)
	if err != nil || net.Masked().String() != s {
		return Access{}, fmt.Errorf("%w: %.80q is not a peer ID or a network like 192.0.2.0/24; one address is 192.0.2.1/32", ErrAddress, s)
	}
	return Access{AllowNets: []netip.Prefix{net}}, nil
}

func insert(sorted []string, s string) []string {
	i, found := slices.BinarySearch(sorted, s)
	if found {
		return sorted
	}
	return slices.Insert(sorted, i, s)
}

// format returns the file of the table. The caller holds mu.
func (t *Table) format() []byte {
	file := tableFile{Format: tableFormat, Peers: []recordFile{}, Allow: t.lists.allow, Deny: t.lists.deny, Follow: t.follow}
	moment := func(at time.Time) *time.Time {
		if at.IsZero() {
			return nil
		}
		at = at.UTC().Truncate(time.Second)
		return &at
	}
	for id, r := range t.peers {
		file.Peers = append(file.Peers, recordFile{
			ID: id.String(), Joined: r.joined, Addrs: r.addrs, Seen: r.seen.UTC().Truncate(time.Second), Serves: r.serves,
			Faults: r.faults, Last: moment(r.last), Times: r.times, Until: moment(r.until),
		})
	}
	slices.SortFunc(file.Peers, func(a, b recordFile) int { return strings.Compare(a.ID, b.ID) })
	raw, err := json.MarshalIndent(file, "", " ")
	if err != nil {
		panic(err) // no value in it can fail
	}
	return append(raw, '\n')
}

// note has the table written some time soon. The caller holds mu.
func (t *Table) note() { t.changed = true }

// flush writes what has changed, where the last write was long enough ago or
// the node ends.
func (t *Table) flush(end bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.changed || !end && t.now().Sub(t.written) < tableEvery {
		return nil
	}
	return t.save()
}

// save writes the table, durable on return. The caller holds mu.
func (t *Table) save() error {
	t.changed, t.written = false, t.now()
	if t.path == "" {
		return nil
	}
	dir := filepath.Dir(t.path)
	tmp, err := os.CreateTemp(dir, ".peers-*")
	if err != nil {
		return fmt.Errorf("write known peers: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(t.format())
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("write known peers: %w", err)
	}
	if err := os.Rename(tmp.Name(), t.path); err != nil {
		return fmt.Errorf("write known peers: %w", err)
	}
	return shard.SyncFolder(dir)
}
