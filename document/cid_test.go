package document

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multibase"
	"github.com/multiformats/go-multihash"
	"pgregory.net/rapid"

	"arborist/merkle"
)

// cidOf makes a CID with the reference library.
func cidOf(t interface{ Fatal(...any) }, version, codec, code uint64, digest []byte, base multibase.Encoding) string {
	hash, err := multihash.Encode(digest, code)
	if err != nil {
		t.Fatal(err)
	}
	c := cid.NewCidV1(codec, hash)
	if version == 0 {
		c = cid.NewCidV0(hash)
		return c.String()
	}
	text, err := c.StringOfBase(base)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRootsAreTheCIDsThatIPFSComputes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		// The block whose CID a leaf's hash is: what was hashed.
		want, err := cid.V1Builder{Codec: cid.Raw, MhType: multihash.SHA2_256}.Sum(append([]byte{0}, data...))
		if err != nil {
			t.Fatal(err)
		}
		leaf := merkle.LeafHash(data)
		root := Root(leaf)
		if root.String() != want.String() {
			t.Fatalf("Root = %s, go-cid has %s", root, want)
		}
		if again, err := ParseRoot(want.String()); err != nil || again != root || again.Hash() != leaf {
			t.Fatalf("ParseRoot(%s) = %s, %v", want, again, err)
		}
		id := ID(leaf)
		if again, err := ParseID(id.String()); err != nil || again != id {
			t.Fatalf("ParseID(%s) = %s, %v", id, again, err)
		}
	})
}

// refusedCIDs names texts that the reference library accepts and this system
// does not: one value has one spelling, and it names one kind of block.
func refusedCIDs(t interface{ Fatal(...any) }) map[string]string {
	digest := bytes.Repeat([]byte{0x5A}, 32)
	good := cidOf(t, 1, cid.Raw, multihash.SHA2_256, digest, multibase.Base32)
	lastBits := good[:len(good)-1] + string(good[len(good)-1]+1)
	return map[string]string{
		"CIDv0":                     cidOf(t, 0, 0, multihash.SHA2_256, digest, 0),
		"codec dag-pb":              cidOf(t, 1, cid.DagProtobuf, multihash.SHA2_256, digest, multibase.Base32),
		"codec dag-cbor":            cidOf(t, 1, cid.DagCBOR, multihash.SHA2_256, digest, multibase.Base32),
		"hash sha2-512":             cidOf(t, 1, cid.Raw, multihash.SHA2_512, append(digest, digest...), multibase.Base32),
		"hash blake3":               cidOf(t, 1, cid.Raw, multihash.BLAKE3, digest, multibase.Base32),
		"hash sha3-256":             cidOf(t, 1, cid.Raw, multihash.SHA3_256, digest, multibase.Base32),
		"identity hash":             cidOf(t, 1, cid.Raw, multihash.IDENTITY, digest, multibase.Base32),
		"sha2-256 of 4 bytes":       cidOf(t, 1, cid.Raw, multihash.SHA2_256, digest[:4], multibase.Base32),
		"base32 in upper case":      cidOf(t, 1, cid.Raw, multihash.SHA2_256, digest, multibase.Base32Upper),
		"base32hex":                 cidOf(t, 1, cid.Raw, multihash.SHA2_256, digest, multibase.Base32hex),
		"base58":                    cidOf(t, 1, cid.Raw, multihash.SHA2_256, digest, multibase.Base58BTC),
		"base16":                    cidOf(t, 1, cid.Raw, multihash.SHA2_256, digest, multibase.Base16),
		"base64":                    cidOf(t, 1, cid.Raw, multihash.SHA2_256, digest, multibase.Base64url),
		"letters of both cases":     strings.Replace(good, "fkrei", "fKrei", 1),
		"upper-case base prefix":    "B" + good[1:],
		"newline behind it":         good + "\n",
		"carriage return inside it": good[:30] + "\r" + good[30:],
		"unused bits set":           lastBits,
		"hash of zeros":             cidOf(t, 1, cid.Raw, multihash.SHA2_256, make([]byte, 32), multibase.Base32),
	}
}

// malformedCIDs names texts that are no CID for anyone.
func malformedCIDs(t interface{ Fatal(...any) }) map[string]string {
	good := cidOf(t, 1, cid.Raw, multihash.SHA2_256, bytes.Repeat([]byte{0x5A}, 32), multibase.Base32)
	return map[string]string{
		"empty":              "",
		"cut short":          good[:58],
		"one more character": good + "a",
		"a digit of no base": good[:20] + "1" + good[21:],
		"space before it":    " " + good[:58],
		"padding":            good[:58] + "=",
		"not ASCII":          good[:57] + "é",
		"no base prefix":     good[1:] + "a",
		"a path before it":   "/ipfs/" + good,
		"version 2":          "baj" + good[3:],
	}
}

func TestOtherSpellingsOfACIDAreRefused(t *testing.T) {
	for name, text := range refusedCIDs(t) {
		if _, err := cid.Decode(text); err != nil {
			t.Errorf("%s: go-cid refuses %q as well: %v", name, text, err)
		}
		checkRefused(t, name, text)
	}
	for name, text := range malformedCIDs(t) {
		checkRefused(t, name, text)
	}
}

func checkRefused(t *testing.T, name, text string) {
	t.Helper()
	if root, err := ParseRoot(text); !errors.Is(err, ErrCID) {
		t.Errorf("%s: ParseRoot(%q) = %s, %v", name, text, root, err)
	}
	var id ID
	if err := id.UnmarshalText([]byte(text)); !errors.Is(err, ErrCID) {
		t.Errorf("%s: ID.UnmarshalText(%q) = %v", name, text, err)
	}
}

func FuzzParseRoot(f *testing.F) {
	for _, text := range refusedCIDs(f) {
		f.Add(text)
	}
	f.Add(Root(merkle.LeafHash(nil)).String())
	f.Fuzz(func(t *testing.T, text string) {
		root, err := ParseRoot(text)
		if err != nil {
			return
		}
		c, err := cid.Decode(text)
		if err != nil || c.String() != text || root.String() != text || root == (Root{}) {
			t.Fatalf("ParseRoot(%q) = %s, go-cid has %s, %v", text, root, c, err)
		}
	})
}

// Decoders of base32 and base64 skip line ends: whatever number of them stands
// wherever, what is decoded is shorter than its text.
func TestLineEndsInACIDAreRefused(t *testing.T) {
	good := Root(merkle.LeafHash(nil)).String()
	for _, end := range []string{"\n", "\r", "\r\n"} {
		for n := 1; n*len(end) < len(good); n++ {
			ends := strings.Repeat(end, n)
			for _, text := range []string{
				good[:1] + ends + good[1+len(ends):],
				good[:len(good)-len(ends)] + ends,
				good[:8] + ends + good[8:],
				good + ends,
				"b" + ends,
			} {
				checkRefused(t, fmt.Sprintf("%d of %q", n, end), text)
			}
		}
	}
}
