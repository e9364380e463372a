package crash

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// A Mode says what of the uncertain is on the disk.
type Mode string

const (
	Lost     Mode = "lost"      // nothing
	Kept     Mode = "kept"      // all
	LoseOne  Mode = "lose-one"  // all but the one picked
	KeepOne  Mode = "keep-one"  // only the one picked
	TornHead Mode = "torn-head" // what came before the picked write, and its first Part sectors
	TornTail Mode = "torn-tail" // all, but of the picked write not its first Part sectors
	Random   Mode = "random"    // each by the toss of a coin, with tears
)

// A Spec names one image of a log. The text that %v prints is read by
// [ParseSpec].
type Spec struct {
	Cut    int // ops that were done when the power went
	Mode   Mode
	Pick   int    // which of the uncertain, in their order
	Sector int    // bytes that are written whole or not at all
	Part   int    // sectors
	Seed   uint64 // of Random
}

// String writes a spec in one word.
func (s Spec) String() string {
	return fmt.Sprintf("%d/%s/%d/%d/%d/%d", s.Cut, s.Mode, s.Pick, s.Sector, s.Part, s.Seed)
}

// ParseSpec reads what String wrote.
func ParseSpec(text string) (s Spec, err error) {
	var words [6]string
	i := 0
	for part := range splitPath(text) {
		if i < len(words) {
			words[i] = part
		}
		i++
	}
	if i != len(words) {
		return s, fmt.Errorf("parse image %q: want CUT/MODE/PICK/SECTOR/PART/SEED", text)
	}
	s.Mode = Mode(words[1])
	_, err = fmt.Sscan(words[0]+" "+words[2]+" "+words[3]+" "+words[4]+" "+words[5], &s.Cut, &s.Pick, &s.Sector, &s.Part, &s.Seed)
	return s, err
}

// An Image is a folder as it can be after a cut.
type Image struct {
	files   map[int][]byte
	folders map[int]map[string]int // only of those that are folders
}

// uncertain returns the effects that were under way at a cut.
func (d *disk) uncertain(cut int) []int {
	var out []int
	for i, e := range d.effects {
		if e.op >= cut {
			break
		}
		if e.certain >= cut {
			out = append(out, i)
		}
	}
	return out
}

// build makes the image of a spec.
func (d *disk) build(s Spec) *Image {
	img := &Image{files: map[int][]byte{}, folders: map[int]map[string]int{0: {}}}
	coin := rand.New(rand.NewPCG(s.Seed, uint64(s.Cut)))
	share := coin.Float64() // of the effects that survive in Random
	at := 0                 // place among the uncertain
	for _, e := range d.effects {
		if e.op >= s.Cut {
			break
		}
		if e.certain < s.Cut {
			d.put(img, e, 0, len(e.data))
			continue
		}
		from, to, there := s.survives(e, at, coin, share)
		if there {
			d.put(img, e, from, to)
		}
		at++
	}
	return img
}

// survives decides whether an uncertain effect is there, and which of its
// bytes.
func (s Spec) survives(e effect, at int, coin *rand.Rand, share float64) (from, to int, there bool) {
	all := len(e.data)
	switch s.Mode {
	case Kept:
		return 0, all, true
	case LoseOne:
		return 0, all, at != s.Pick
	case KeepOne:
		return 0, all, at == s.Pick
	case TornHead:
		if at == s.Pick {
			return 0, e.sectors(s.Sector, s.Part), true
		}
		return 0, all, at < s.Pick
	case TornTail:
		if at == s.Pick {
			return e.sectors(s.Sector, s.Part), all, true
		}
		return 0, all, true
	case Random:
		there = coin.Float64() < share
		if count := e.count(s.Sector); there && count > 1 && coin.IntN(3) == 0 {
			edge := e.sectors(s.Sector, 1+coin.IntN(count-1))
			if coin.IntN(2) == 0 {
				return 0, edge, true
			}
			return edge, all, true
		}
		return 0, all, there
	}
	return 0, 0, false
}

// sectors returns how many bytes of a write are in its first n sectors, which
// lie where the file's sectors lie.
func (e effect) sectors(size, n int) int {
	if n == 0 {
		return 0
	}
	end := (e.offset/int64(size) + int64(n)) * int64(size)
	return int(min(end-e.offset, int64(len(e.data))))
}

// count returns how many sectors a write touches.
func (e effect) count(size int) int {
	if len(e.data) == 0 {
		return 0
	}
	return int((e.offset+int64(len(e.data))-1)/int64(size) - e.offset/int64(size) + 1)
}

// put brings an effect into an image.
func (d *disk) put(img *Image, e effect, from, to int) {
	for _, n := range e.names {
		names := img.folder(n.folder)
		if n.target < 0 {
			delete(names, n.name)
			continue
		}
		names[n.name] = n.target
		if d.folders[n.target] != nil {
			img.folder(n.target)
		}
	}
	if e.node < 0 {
		return
	}
	data := img.files[e.node]
	switch {
	case e.cut && int64(len(data)) > e.offset:
		data = data[:e.offset]
	case e.cut:
		data = grow(data, int(e.offset))
	case from < to:
		data = grow(data, int(e.offset)+to)
		copy(data[int(e.offset)+from:], e.data[from:to])
	}
	img.files[e.node] = data
}

// grow makes data at least n bytes long. What is new is zero, also where a
// longer file was cut before.
func grow(data []byte, n int) []byte {
	if n <= len(data) {
		return data
	}
	old := len(data)
	data = slices.Grow(data, n-old)[:n]
	clear(data[old:])
	return data
}

func (img *Image) folder(n int) map[string]int {
	if img.folders[n] == nil {
		img.folders[n] = map[string]int{}
	}
	return img.folders[n]
}

// Sum is the hash of all that the image holds: two images with one sum are one
// folder.
func (img *Image) Sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	img.walk(0, ".", func(p string, file int, data []byte) error {
		h.Write([]byte(p))
		h.Write([]byte{0, byte(min(file, 1))})
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(data))))
		h.Write(data)
		return nil
	})
	return [sha256.Size]byte(h.Sum(nil))
}

// WriteTo makes the image in a folder that is there and empty. Two names of
// one file are two names of one file there as well.
func (img *Image) WriteTo(dir string) error {
	first := map[int]string{}
	return img.walk(0, ".", func(p string, file int, data []byte) error {
		full := filepath.Join(dir, p)
		if file < 0 {
			return os.MkdirAll(full, 0o700)
		}
		if other, ok := first[file]; ok {
			return os.Link(other, full)
		}
		first[file] = full
		return os.WriteFile(full, data, 0o600)
	})
}

// walk calls fn for each name that the folder leads to, in a fixed order; file
// is -1 for a folder.
func (img *Image) walk(folder int, p string, fn func(p string, file int, data []byte) error) error {
	if err := fn(p, -1, nil); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(img.folders[folder])) {
		target, below := img.folders[folder][name], filepath.Join(p, name)
		var err error
		if img.folders[target] != nil {
			err = img.walk(target, below, fn)
		} else {
			err = fn(below, target, img.files[target])
		}
		if err != nil {
			return err
		}
	}
	return nil
}
