package peer

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// Access says who may be connected. Deny goes before allow; an empty allow
// list allows everybody. Peers are peer IDs in text form.
type Access struct {
	AllowPeers []string
	DenyPeers  []string
	AllowNets  []netip.Prefix
	DenyNets   []netip.Prefix
}

// accessLists are an [Access] and the owner's lists as the gater asks them.
type accessLists struct {
	allowPeers, denyPeers map[libpeer.ID]bool
	allowNets, denyNets   []netip.Prefix
}

func newAccessLists(a Access) (*accessLists, error) {
	l := &accessLists{allowNets: masked(a.AllowNets), denyNets: masked(a.DenyNets)}
	var err error
	if l.allowPeers, err = peerSet(a.AllowPeers); err != nil {
		return nil, err
	}
	l.denyPeers, err = peerSet(a.DenyPeers)
	return l, err
}

func peerSet(ids []string) (map[libpeer.ID]bool, error) {
	set := make(map[libpeer.ID]bool, len(ids))
	for _, s := range ids {
		id, err := parsePeerID(s)
		if err != nil {
			return nil, err
		}
		set[id] = true
	}
	return set, nil
}

func masked(nets []netip.Prefix) []netip.Prefix {
	out := make([]netip.Prefix, len(nets))
	for i, n := range nets {
		out[i] = n.Masked()
	}
	return out
}

// allowsPeer reports whether a peer may be connected at all.
func (l *accessLists) allowsPeer(p libpeer.ID) bool {
	if l.denyPeers[p] {
		return false
	}
	return len(l.allowPeers) == 0 || l.allowPeers[p]
}

// allowsIP reports whether a network address may be connected.
func (l *accessLists) allowsIP(ip netip.Addr) bool {
	in := func(nets []netip.Prefix) bool {
		return slices.ContainsFunc(nets, func(n netip.Prefix) bool { return n.Contains(ip) })
	}
	return !in(l.denyNets) && (len(l.allowNets) == 0 || in(l.allowNets))
}

// A List is one of the owner's two lists of who may connect.
type List string

// The owner's lists. Deny goes before allow; an empty allow list allows
// everybody.
const (
	ListAllow List = "allow"
	ListDeny  List = "deny"
)

// ErrNotListed: there is no such entry to remove.
var ErrNotListed = errors.New("it is not on the list")

// Lists returns the owner's allow and deny lists.
func (t *Table) Lists() (allow, deny []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lists.allow), slices.Clone(t.lists.deny)
}

// Put adds a peer ID or a network to a list, durable on return.
func (t *Table) Put(list List, entry string) error {
	if _, err := parseEntry(entry); err != nil {
		return err
	}
	return t.edit(list, func(l []string) ([]string, error) {
		if l = insert(l, entry); len(l) > maxListed {
			return nil, fmt.Errorf("%w: %d entries, at most %d; list a network in place of its peers", ErrListFull, len(l), maxListed)
		}
		return l, nil
	})
}

// Drop removes an entry from a list, durable on return.
func (t *Table) Drop(list List, entry string) error {
	return t.edit(list, func(l []string) ([]string, error) {
		i, found := slices.BinarySearch(l, entry)
		if !found {
			return nil, fmt.Errorf("%w: %.80q", ErrNotListed, entry)
		}
		return slices.Delete(l, i, i+1), nil
	})
}

func (t *Table) edit(list List, fn func([]string) ([]string, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := &t.lists.allow
	if list == ListDeny {
		at = &t.lists.deny
	}
	l, err := fn(slices.Clone(*at))
	if err != nil {
		return err
	}
	*at = l
	return t.save()
}

// access adds the owner's lists to those of the configuration.
func (t *Table) access(a Access) Access {
	a = Access{slices.Clone(a.AllowPeers), slices.Clone(a.DenyPeers), slices.Clone(a.AllowNets), slices.Clone(a.DenyNets)}
	allow, deny := t.Lists()
	for _, entry := range allow {
		e, _ := parseEntry(entry) // parsed before it was listed
		a.AllowPeers, a.AllowNets = append(a.AllowPeers, e.AllowPeers...), append(a.AllowNets, e.AllowNets...)
	}
	for _, entry := range deny {
		e, _ := parseEntry(entry)
		a.DenyPeers, a.DenyNets = append(a.DenyPeers, e.AllowPeers...), append(a.DenyNets, e.AllowNets...)
	}
	return a
}

// Recheck takes over the lists of the table, and ends the connections that they
// do not allow any more.
func (p *Peer) Recheck() error {
	lists, err := newAccessLists(p.table.access(p.cfg.Access))
	if err != nil {
		return err
	}
	p.gater.lists.Store(lists)
	for _, c := range p.host.Network().Conns() {
		if !p.gater.allowsPeer(c.RemotePeer()) || !p.gater.allowsAddr(c.RemoteMultiaddr()) {
			c.Close()
		}
	}
	return nil
}
