package cfb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"arborist/internal/arbtest/ole"
)

// streams of every length that matters: none, mini sectors, sectors, and enough
// of them that the FAT is named outside of the header.
func someStreams(largest int) map[string][]byte {
	streams := map[string][]byte{}
	for i, size := range []int{0, 1, 63, 64, 65, 4095, 4096, 4097, 100_000, largest} {
		b := bytes.Repeat([]byte{byte('a' + i)}, size)
		for j := range b {
			b[j] ^= byte(j / 512)
		}
		streams[fmt.Sprintf("stream %d", i)] = b
	}
	return streams
}

func TestStreamsComeAsTheyWereWritten(t *testing.T) {
	streams := someStreams(8 << 20)
	for version, file := range map[int][]byte{3: ole.File(streams), 4: ole.File4(streams)} {
		f, err := Open(file)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		for name, want := range streams {
			got, err := f.Stream(name)
			if err != nil || !bytes.Equal(got, want) || !f.Has(name) {
				t.Errorf("version %d, %s: %d bytes of %d, %v", version, name, len(got), len(want), err)
			}
		}
		if _, err := f.Stream("another"); !errors.Is(err, ErrNoStream) || f.Has("another") {
			t.Errorf("a stream that is not there: %v", err)
		}
	}
}

func TestTheSummaryHasATitle(t *testing.T) {
	for name, c := range map[string]struct {
		set   []byte
		title string
		code  int
	}{
		"sound":           {ole.Summary(1251, []byte("\xca\x00")), "\xca\x00", 1251},
		"cut short":       {ole.Summary(1251, []byte("abc"))[:60], "", 0},
		"longer than all": {bytes.Replace(ole.Summary(1251, []byte("abc")), ole.U32(3), ole.U32(1<<32-1), 1), "abc", 1251},
		"of another type": {bytes.Replace(ole.Summary(1251, []byte("abc")), ole.U32(0x1e), ole.U32(3), 1), "", 1251},
		"in UTF-16":       {bytes.Replace(ole.Summary(1251, []byte("abcdef")), ole.U32(0x1e, 6), ole.U32(0x1f, 3), 1), "abcdef", 1251},
		"of 2^32 entries": {bytes.Replace(ole.Summary(1251, []byte("abc")), ole.U32(0, 2), ole.U32(0, 1<<32-1), 1), "abc", 1251},
		"none":            {nil, "", 0},
	} {
		f, err := Open(ole.File(map[string][]byte{Summary: c.set}))
		if err != nil {
			t.Fatal(err)
		}
		text, code := f.Property(PropertyTitle)
		want := c.code
		if name == "in UTF-16" {
			want = CodePageUTF16
		} else if c.title == "" {
			want = 0
		}
		if string(text) != c.title || code != want || f.CodePage() != c.code {
			t.Errorf("%s: %q in %d of %d", name, text, code, f.CodePage())
		}
	}
}

// Where things are in a file of [ole.File].
const (
	atShift, atDirectory, atMini, atDIFAT = 30, 48, 60, 68
)

func TestHostileFilesAreRefused(t *testing.T) {
	sound := ole.File(map[string][]byte{"a": make([]byte, 5000), "b": make([]byte, 100)})
	put := func(at int, v uint32) []byte {
		file := bytes.Clone(sound)
		binary.LittleEndian.PutUint32(file[at:], v)
		return file
	}
	sector := func(at int) int { return int(binary.LittleEndian.Uint32(sound[at:]))*512 + 512 }
	directory, fat := sector(atDirectory), sector(76)
	entry := func(n, at int) int { return directory + 128*n + at }
	for name, file := range map[string][]byte{
		"nothing":                             nil,
		"a header alone":                      sound[:512],
		"half a header":                       sound[:100],
		"sectors of 2^65535 bytes":            put(atShift, 0xffff),
		"a chain in a circle":                 put(fat, 0),
		"a longer circle":                     put(fat+4, 0),
		"a chain that leads out":              put(fat, 1<<31),
		"a directory in a circle":             put(fat+int(binary.LittleEndian.Uint32(sound[atDirectory:]))*4, binary.LittleEndian.Uint32(sound[atDirectory:])),
		"a directory outside":                 put(atDirectory, 1<<30),
		"a directory that ends at once":       put(atDirectory, endOfChain),
		"a FAT outside":                       put(76, 1<<30),
		"a DIFAT in a circle":                 put(atDIFAT, 0),
		"a DIFAT outside":                     put(atDIFAT, 1<<30),
		"a mini FAT in a circle":              put(fat+int(binary.LittleEndian.Uint32(sound[atMini:]))*4, binary.LittleEndian.Uint32(sound[atMini:])),
		"an entry that is its own neighbour":  put(entry(1, 68), 1),
		"an entry that is not there":          put(entry(1, 72), 1<<31),
		"a root that is none":                 put(entry(0, 66), 1),
		"a stream of 4 GiB":                   put(entry(1, 120), 1<<32-1),
		"a stream longer than its chain":      put(entry(1, 120), 5200),
		"a small stream longer than its own":  put(entry(2, 120), 200),
		"a small stream that begins nowhere":  put(entry(2, 116), 1<<30),
		"a mini stream that begins elsewhere": put(entry(0, 116), 1<<30),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := Open(file)
		for _, s := range []string{"a", "b"} {
			if err == nil {
				_, err = f.Stream(s)
			}
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrFormat) || used > 1<<20 {
			t.Errorf("%s: %v, %d bytes", name, err, used)
		}
	}
}

// A file of many folders in each other, of which a library made gigabytes.
func TestMemoryIsBoundedByTheFile(t *testing.T) {
	const folders = 40_000
	directory := make([]byte, 0, 128*folders)
	for i := range folders {
		e := make([]byte, 128)
		copy(e, ole.UTF16("folder"))
		copy(e[64:], ole.U16(14))
		e[66] = 1
		copy(e[68:], ole.U32(1<<32-1, 1<<32-1, i+1))
		if i == 0 {
			e[66] = 5
		} else if i == folders-1 {
			copy(e[76:], ole.U32(1<<32-1))
		}
		directory = append(directory, e...)
	}
	file := ole.File(map[string][]byte{"a": directory})
	f, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(file[atDirectory:], f.streams["a"].start)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = Open(file)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err != nil || used > 8*uint64(len(file)) {
		t.Errorf("%d bytes for a file of %d, %v", used, len(file), err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(ole.File(map[string][]byte{"a": []byte("text"), Summary: ole.Summary(1252, []byte("title"))}))
	f.Add(ole.File(map[string][]byte{"a": make([]byte, 5000), "b": nil}))
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := Open(file)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		for name := range c.streams {
			b, err := c.Stream(name)
			if err != nil && !errors.Is(err, ErrFormat) || len(b) > len(file) {
				t.Fatalf("%q: %d bytes of %d, %v", name, len(b), len(file), err)
			}
		}
		c.Property(PropertyTitle)
	})
}
