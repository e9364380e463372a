package peer

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"arborist/document"
	"arborist/merkle"
)

// A kind is one kind of resource.
type kind string

const (
	kindCorpora    kind = "corpora"
	kindKey        kind = "key"
	kindCheckpoint kind = "checkpoint"
	kindRotations  kind = "rotations"
	kindTile       kind = "tile"
	kindEntries    kind = "entries"
	kindPack       kind = "pack"
	kindDoc        kind = "doc"
	kindDelta      kind = "delta"
	kindProof      kind = "proof"
	kindSearch     kind = "search"
	kindFilter     kind = "filter"
	kindFuse       kind = "fuse"
)

// A resource names one resource. Its path is its only spelling: parseResource
// accepts what path gives and nothing else, so a cache, a log line and a file
// tree can use the path as the name.
type resource struct {
	kind   kind
	corpus CorpusID      // of all kinds but corpora and search
	level  uint8         // of a tile
	index  uint64        // of a tile, bundle or pack
	width  int           // of a tile, bundle or pack: 1 to 256, 256 is whole
	root   document.Root // of a document, delta or proof
	old    document.Root // that a delta is from
	chunk  uint64        // of a proof
	limit  int           // of a search: 1 to maxAnswers hits
	query  string        // of a search
	sum    merkle.Hash   // of a filter's bytes
}

// maxLevel is the highest tile level of a tree of at most 2^63 records.
const maxLevel = 7

// path returns the resource's path below [PathPrefix].
func (r resource) path() string {
	switch r.kind {
	case kindCorpora:
		return string(kindCorpora)
	case kindSearch:
		return string(kindSearch) + "/" + strconv.Itoa(r.limit) + "/" + base64.RawURLEncoding.EncodeToString([]byte(r.query))
	}
	p := r.corpus.String() + "/"
	switch r.kind {
	case kindTile:
		return p + "tile/" + strconv.Itoa(int(r.level)) + "/" + tilePath(r.index, r.width)
	case kindEntries:
		return p + "tile/entries/" + tilePath(r.index, r.width)
	case kindPack:
		return p + "pack/" + tilePath(r.index, r.width)
	case kindDoc:
		return p + "doc/" + r.root.String()
	case kindDelta:
		return p + "delta/" + r.root.String() + "/" + r.old.String()
	case kindFuse:
		return p + "fuse/" + hex.EncodeToString(r.sum[:])
	case kindProof:
		return p + "proof/" + r.root.String() + "/" + strconv.FormatUint(r.chunk, 10)
	default:
		return p + string(r.kind)
	}
}

// parseResource parses a path below [PathPrefix].
func parseResource(path string) (resource, bool) {
	if len(path) > maxPath {
		return resource{}, false
	}
	if path == string(kindCorpora) {
		return resource{kind: kindCorpora}, true
	}
	if rest, ok := strings.CutPrefix(path, string(kindSearch)+"/"); ok {
		return parseSearch(rest, path)
	}
	// The corpus is the first two elements, the rest depends on the third.
	publisher, rest, _ := strings.Cut(path, "/")
	name, rest, _ := strings.Cut(rest, "/")
	corpus, err := ParseCorpusID(publisher + "/" + name)
	if err != nil {
		return resource{}, false
	}
	r := resource{corpus: corpus}
	if !r.parseRest(rest) || r.path() != path {
		return resource{}, false
	}
	return r, true
}

// parseSearch parses what follows "search/" in path.
func parseSearch(rest, path string) (resource, bool) {
	limit, query, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(limit)
	text, err2 := base64.RawURLEncoding.DecodeString(query)
	r := resource{kind: kindSearch, limit: n, query: string(text)}
	if err != nil || err2 != nil || n < 1 || n > maxAnswers || len(text) == 0 || !utf8.Valid(text) || r.path() != path {
		return resource{}, false
	}
	return r, true
}

func (r *resource) parseRest(rest string) (ok bool) {
	head, rest, _ := strings.Cut(rest, "/")
	r.kind = kind(head)
	var err error
	switch r.kind {
	case kindKey, kindCheckpoint, kindRotations, kindFilter:
		return rest == ""
	case kindFuse:
		if len(rest) != hex.EncodedLen(len(r.sum)) {
			return false
		}
		_, err = hex.Decode(r.sum[:], []byte(rest))
		return err == nil
	case kindPack:
		r.index, r.width, ok = parseTilePath(rest)
		return ok
	case kindDoc:
		r.root, err = document.ParseRoot(rest)
		return err == nil
	case kindDelta:
		root, old, _ := strings.Cut(rest, "/")
		if r.root, err = document.ParseRoot(root); err != nil {
			return false
		}
		r.old, err = document.ParseRoot(old)
		return err == nil
	case kindProof:
		root, chunk, _ := strings.Cut(rest, "/")
		if r.root, err = document.ParseRoot(root); err != nil {
			return false
		}
		r.chunk, err = strconv.ParseUint(chunk, 10, 64)
		return err == nil
	case kindTile:
		level, index, _ := strings.Cut(rest, "/")
		if level == string(kindEntries) {
			r.kind = kindEntries
		} else if n, err := strconv.ParseUint(level, 10, 8); err != nil || n > maxLevel {
			return false
		} else {
			r.level = uint8(n)
		}
		r.index, r.width, ok = parseTilePath(index)
		return ok
	default:
		return false
	}
}

// tilePath returns an index and width as C2SP tlog-tiles has them: groups of
// three digits, all but the last after an "x", and ".p/W" where it is partial.
func tilePath(index uint64, width int) string {
	p := fmt.Sprintf("%03d", index%1000)
	for index /= 1000; index > 0; index /= 1000 {
		p = fmt.Sprintf("x%03d/%s", index%1000, p)
	}
	if width != tileWidth {
		p += ".p/" + strconv.Itoa(width)
	}
	return p
}

// parseTilePath accepts every spelling of tilePath and a few more: the caller
// compares.
func parseTilePath(s string) (index uint64, width int, ok bool) {
	width = tileWidth
	if path, w, partial := strings.Cut(s, ".p/"); partial {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || n >= tileWidth {
			return 0, 0, false
		}
		s, width = path, n
	}
	groups := strings.Split(s, "/")
	// Five groups name a billion bundles, far below 2^63 records.
	if len(groups) > 5 {
		return 0, 0, false
	}
	for _, g := range groups {
		n, err := strconv.ParseUint(strings.TrimPrefix(g, "x"), 10, 16)
		if err != nil || n > 999 {
			return 0, 0, false
		}
		index = index*1000 + n
	}
	return index, width, true
}
