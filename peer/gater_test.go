package peer

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/p2p/host/autonat"
	ma "github.com/multiformats/go-multiaddr"
)

func prefixes(t *testing.T, all ...string) (nets []netip.Prefix) {
	t.Helper()
	for _, s := range all {
		nets = append(nets, netip.MustParsePrefix(s))
	}
	return nets
}

func TestNetworksAreAllowedAndDenied(t *testing.T) {
	for _, c := range []struct {
		allow, deny []string
		addr        string
		want        bool
	}{
		{nil, nil, "/ip4/192.0.2.1/tcp/1", true},
		{nil, nil, "/ip6/2001:db8::1/udp/1/quic-v1", true},
		{nil, []string{"192.0.2.0/24"}, "/ip4/192.0.2.1/tcp/1", false},
		{nil, []string{"192.0.2.77/24"}, "/ip4/192.0.2.1/tcp/1", false},
		{nil, []string{"192.0.2.0/24"}, "/ip4/198.51.100.1/tcp/1", true},
		{nil, []string{"192.0.2.0/24"}, "/ip6/::ffff:192.0.2.1/tcp/1", false},
		{[]string{"10.0.0.0/8"}, nil, "/ip4/10.1.2.3/tcp/1", true},
		{[]string{"10.0.0.0/8"}, nil, "/ip4/192.0.2.1/tcp/1", false},
		{[]string{"10.0.0.0/8"}, nil, "/ip6/2001:db8::1/tcp/1", false},
		{[]string{"10.0.0.0/8"}, []string{"10.1.0.0/16"}, "/ip4/10.1.2.3/tcp/1", false},
		{[]string{"fe80::/10"}, nil, "/ip6zone/eth0/ip6/fe80::1/tcp/1", true},
		{nil, nil, "/ip4/192.0.2.1/tcp/1/p2p/" + testPeer + "/p2p-circuit", false},
		{nil, nil, "/dns4/example.org/tcp/1", false}, // resolved before it is asked about
		{nil, nil, "/unix/tmp", false},
	} {
		g, err := newGater(Access{AllowNets: prefixes(t, c.allow...), DenyNets: prefixes(t, c.deny...)}, newTable(""))
		if err != nil {
			t.Fatal(err)
		}
		if got := g.allowsAddr(ma.StringCast(c.addr)); got != c.want {
			t.Errorf("allow %v, deny %v: %s is allowed: %v, want %v", c.allow, c.deny, c.addr, got, c.want)
		}
	}
	g, _ := newGater(Access{}, newTable(""))
	if g.allowsAddr(nil) {
		t.Error("no address at all is allowed")
	}
}

func TestPeersAreAllowedAndDenied(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t)
	for _, c := range []struct {
		name   string
		access Access
		want   bool
	}{
		{"everybody", Access{}, true},
		{"denied", Access{DenyPeers: []string{b.id}}, false},
		{"not among the allowed", Access{AllowPeers: []string{testPeer}}, false},
		{"allowed", Access{AllowPeers: []string{b.id}}, true},
		{"allowed and denied", Access{AllowPeers: []string{b.id}, DenyPeers: []string{b.id}}, false},
		{"network denied", Access{DenyNets: prefixes(t, "127.0.0.0/8")}, false},
		{"network not among the allowed", Access{AllowNets: prefixes(t, "10.0.0.0/8")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			guarded := newNode(t).up(listenTCP, func(cfg *Config) { cfg.Access = c.access })
			guarded.publish("main", entriesOf(t, "doc:/x", 1, 200)...)
			b.up(nil)
			defer func() { b.peer.Close(); b.peer = nil }()
			_, err := b.peer.Corpora(t.Context(), guarded.addr())
			if (err == nil) != c.want {
				t.Errorf("an inbound connection: %v, want %v", err, c.want)
			}
			// And outwards: the owner's own word does not override the list.
			if c.name == "network denied" || c.name == "network not among the allowed" {
				if _, err := guarded.peer.Join(t.Context(), a.addr()); err == nil {
					t.Error("an outbound connection was made into a network that is not allowed")
				}
			}
		})
	}
	if _, err := New(Config{KeyFile: b.keyFile(), Access: Access{DenyPeers: []string{"nobody"}}}, b.shared); err == nil {
		t.Error("a deny list with no peer ID in it was accepted")
	}
}

func TestNothingIsDialledUnasked(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(listenTCP)
	info, err := libpeer.AddrInfoFromString(a.addr())
	if err != nil {
		t.Fatal(err)
	}
	// libp2p knows the address, as from a peer's hint, and wants to go there.
	b.peer.host.Peerstore().AddAddrs(info.ID, info.Addrs, peerstore.PermanentAddrTTL)
	if err := b.peer.host.Connect(t.Context(), *info); err == nil {
		t.Error("libp2p opened a connection that nobody asked for")
	}
	if _, err := b.peer.Sync(t.Context(), a.id, "main", nil); !errors.Is(err, ErrNotConnected) {
		t.Errorf("sync by the ID of a peer never joined = %v, want ErrNotConnected", err)
	}
	if _, err := b.peer.Join(t.Context(), a.addr()); err != nil {
		t.Fatal(err)
	}
}

func TestAPublicPeerCannotSendUsIntoTheLocalNetwork(t *testing.T) {
	id := libpeer.ID("some peer")
	local, public := ma.StringCast("/ip4/127.0.0.1/tcp/22"), ma.StringCast("/ip4/8.8.8.8/tcp/4707")
	g, err := newGater(Access{}, newTable(""))
	if err != nil {
		t.Fatal(err)
	}
	if g.InterceptPeerDial(id) || g.InterceptAddrDial(id, public) {
		t.Error("a peer that nobody named may be dialled")
	}
	g.want(libpeer.AddrInfo{ID: id, Addrs: []ma.Multiaddr{public}})
	if !g.InterceptAddrDial(id, public) || g.InterceptAddrDial(id, local) {
		t.Error("a peer named by a public address: want public addresses to be dialled, local ones not")
	}
	g.want(libpeer.AddrInfo{ID: id, Addrs: []ma.Multiaddr{local}})
	if !g.InterceptAddrDial(id, local) {
		t.Error("a peer named by a local address may not be dialled there")
	}
}

func TestAddressesThatNameNobodyAreRefused(t *testing.T) {
	b := newNode(t).up(nil)
	for _, addr := range []string{"", "x", b.id, "/ip4/127.0.0.1/tcp/1", "/p2p/" + testPeer, "http://127.0.0.1/", "/ip4/300.0.0.1/tcp/1/p2p/" + testPeer} {
		if _, err := b.peer.Join(t.Context(), addr); !errors.Is(err, ErrAddress) {
			t.Errorf("join %q = %v, want ErrAddress", addr, err)
		}
	}
	// A peer ID that is the hash of a key certifies nothing.
	if _, err := b.peer.Join(t.Context(), "/ip4/127.0.0.1/tcp/1/p2p/QmcgpsyWgH8Y8ajJz1Cu72KnS5uo2Aa2LpzU7kinSupNKC"); err == nil {
		t.Error("a peer ID without a key was joined")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := b.peer.Join(ctx, "/ip4/127.0.0.1/tcp/1/p2p/"+testPeer); !errors.Is(err, ErrUnavailable) {
		t.Errorf("join of a dead address = %v, want ErrUnavailable", err)
	}
}

func TestPeersThatServeNoCorporaAreTold(t *testing.T) {
	h, err := libp2p.New(libp2p.ListenAddrStrings(listenTCP...), libp2p.DisableRelay(), libp2p.DisableMetrics(), libp2p.ForceReachabilityPrivate())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	b := newNode(t).up(nil)
	if _, err := b.peer.Join(t.Context(), h.Addrs()[0].String()+"/p2p/"+h.ID().String()); !errors.Is(err, ErrNoService) {
		t.Errorf("join of another program = %v, want ErrNoService", err)
	}
}

func TestConnectedPeersAreListed(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(listenTCP)
	id, err := b.peer.Join(t.Context(), a.addr())
	if err != nil || id != a.id {
		t.Fatalf("join = %s, %v, want %s", id, err, a.id)
	}
	out := b.peer.Peers()
	if len(out) != 1 || out[0].ID != a.id || out[0].Direction != "out" || out[0].Latency <= 0 || len(out[0].Addrs) != 1 || !strings.HasPrefix(a.addr(), out[0].Addrs[0]) {
		t.Errorf("peers of who joined = %+v", out)
	}
	in := a.peer.Peers()
	if len(in) != 1 || in[0].ID != b.id || in[0].Direction != "in" {
		t.Errorf("peers of who was joined = %+v", in)
	}
	// The joined one can use the connection as well.
	b.publish("notes", entriesOf(t, "doc:/n", 2, 200)...)
	list, err := a.peer.Corpora(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].Origin != b.origin("notes") {
		t.Errorf("corpora of all peers = %+v, %v", list, err)
	}
	a.sync(b.id, "notes")
	if list, err := newNode(t).up(nil).peer.Corpora(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("corpora without peers = %v, %v", list, err)
	}
}

func TestAHostOffersNothingButOurs(t *testing.T) {
	a := newNode(t).up(listenTCP)
	want := map[string]bool{string(ProtocolID): true, "/ipfs/id/1.0.0": true, "/ipfs/id/push/1.0.0": true, "/ipfs/ping/1.0.0": true}
	for _, p := range a.peer.host.Mux().Protocols() {
		if !want[string(p)] {
			t.Errorf("the host offers %s", p)
		}
	}
	if h, ok := a.peer.host.(interface{ GetAutoNat() autonat.AutoNAT }); ok {
		if _, ambient := h.GetAutoNat().(*autonat.AmbientAutoNAT); ambient {
			t.Error("the host would ask peers to dial it back")
		}
	}
	if got := a.peer.host.Network().Connectedness(a.peer.id.id); got == network.Connected {
		t.Error("the host is connected to itself")
	}
}

func TestListenErrorsNameTheAddress(t *testing.T) {
	b := newNode(t)
	var taken string
	for _, listen := range [][]string{listenQUIC, listenTCP} {
		a := newNode(t).up(listen)
		taken = strings.TrimSuffix(a.addr(), "/p2p/"+a.id)
		_, err := New(Config{KeyFile: b.keyFile(), Listen: []string{taken}}, b.shared)
		if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), taken) {
			t.Errorf("listening on a port that is taken = %v, want EADDRINUSE and the address", err)
		}
	}
	// One bad address among good ones is not passed over.
	if _, err := New(Config{KeyFile: b.keyFile(), Listen: append([]string{taken}, listenQUIC...)}, b.shared); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("error = %v, want EADDRINUSE", err)
	}
	for _, bad := range []string{"", "localhost:80", "/ip4/127.0.0.1"} {
		if p, err := New(Config{KeyFile: b.keyFile(), Listen: []string{bad}}, b.shared); err == nil {
			p.Close()
			t.Errorf("listening on %q was accepted", bad)
		}
	}
	if _, err := New(Config{}, b.shared); err == nil {
		t.Error("a configuration without an identity file was accepted")
	}
	if _, err := New(Config{KeyFile: b.keyFile(), Streams: 17}, b.shared); err == nil {
		t.Error("17 streams were accepted")
	}
	if got := len(DefaultListen(4707)); got != 4 {
		t.Errorf("%d default addresses, want TCP and QUIC for IPv4 and IPv6", got)
	}
}

func TestDefaultAddressesAreListenedOn(t *testing.T) {
	a := newNode(t).up(DefaultListen(0))
	tcp, quic := 0, 0
	for _, addr := range a.peer.Addrs() {
		if !strings.HasSuffix(addr, "/p2p/"+a.id) {
			t.Errorf("address %s does not end in the peer ID", addr)
		}
		switch {
		case strings.Contains(addr, "/tcp/"):
			tcp++
		case strings.Contains(addr, "/quic-v1/"):
			quic++
		}
	}
	if tcp == 0 || quic == 0 {
		t.Errorf("addresses = %v, want TCP and QUIC", a.peer.Addrs())
	}
}

// Identify may come late, or what it told may be of an earlier connection: a
// peer that does not seem to speak our protocol is asked before it is refused.
func TestPeerWhoseProtocolsAreNotKnownYetIsAsked(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil)
	id, err := b.peer.Join(t.Context(), a.addr())
	if err != nil {
		t.Fatal(err)
	}
	other, err := parsePeerID(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.peer.host.Peerstore().RemoveProtocols(other, ProtocolID); err != nil {
		t.Fatal(err)
	}
	if err := b.peer.speaks(t.Context(), other); err != nil {
		t.Errorf("a peer that serves corpora was refused: %v", err)
	}
}

func TestWhoeverTheOwnersListsLeaveOutIsNamedAsSuch(t *testing.T) {
	a := newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 1, 200)...)
	for entry, list := range map[string]List{a.id: ListDeny, "127.0.0.0/8": ListDeny, someIDs(t, 1)[0].String(): ListAllow, "192.0.2.0/24": ListAllow} {
		b := newNode(t).up(nil)
		if err := errors.Join(b.peer.table.Put(list, entry), b.peer.Recheck()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.peer.Join(t.Context(), a.addr()); !errors.Is(err, ErrDenied) {
			t.Errorf("join with %s %s = %v, want ErrDenied", list, entry, err)
		}
		if _, err := b.peer.Sync(t.Context(), a.addr(), "main", nil); !errors.Is(err, ErrDenied) {
			t.Errorf("sync with %s %s = %v, want ErrDenied", list, entry, err)
		}
	}
}
