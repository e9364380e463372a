// Package ole makes binary files of Office for tests: the compound file around
// them, and text documents, workbooks and presentations of as little as readers
// need.
package ole

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"unicode/utf16"
)

const (
	sector     = 512 // of version 3, and the size of the header
	miniSector = 64
	miniCutoff = 4096
	inHeader   = 109 // sectors of the FAT that the header names
	endOfChain = 0xfffffffe
	free       = 0xffffffff
)

// UTF16 encodes text, least significant byte first.
func UTF16(text string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// U16 and U32 encode numbers, least significant byte first.
func U16(n ...int) (b []byte) {
	for _, v := range n {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return b
}

// U32 is described with [U16].
func U32(n ...int) (b []byte) {
	for _, v := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// Join puts parts one after another.
func Join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func pad(b []byte, size int) []byte {
	return append(b, make([]byte, (size-len(b)%size)%size)...)
}

// File makes a compound file of streams by their names.
func File(streams map[string][]byte) []byte { return file(streams, 3, sector) }

// File4 makes one of version 4, whose sectors are of 4096 bytes.
func File4(streams map[string][]byte) []byte { return file(streams, 4, 4096) }

func file(streams map[string][]byte, version, sector int) []byte {
	var data, small []byte
	var fat, mini []uint32
	add := func(b []byte) int { // a chain of sectors
		start := len(fat)
		data = append(data, pad(bytes.Clone(b), sector)...)
		for n := len(data) / sector; len(fat) < n; {
			fat = append(fat, uint32(len(fat)+1))
		}
		if len(fat) == start {
			return endOfChain
		}
		fat[len(fat)-1] = endOfChain
		return start
	}
	names := slices.Sorted(maps.Keys(streams))
	entry := func(name string, kind, child, right, start, size int) []byte {
		b := make([]byte, 64)
		copy(b, UTF16(name))
		b = append(b, U16(2*len(utf16.Encode([]rune(name)))+2)...)
		b = append(b, byte(kind), 1)
		b = append(b, U32(free, right, child)...)
		return Join(b, make([]byte, 36), U32(start, size, 0))
	}
	directory := make([]byte, 128) // the root is filled in at the end
	for i, name := range names {
		s, right := streams[name], i+2
		if i == len(names)-1 {
			right = free
		}
		start := endOfChain
		switch {
		case len(s) >= miniCutoff:
			start = add(s)
		case len(s) > 0:
			start = len(mini)
			small = append(small, pad(bytes.Clone(s), miniSector)...)
			for n := len(small) / miniSector; len(mini) < n; {
				mini = append(mini, uint32(len(mini)+1))
			}
			mini[len(mini)-1] = endOfChain
		}
		directory = append(directory, entry(name, 2, free, right, start, len(s))...)
	}
	child := 1
	if len(names) == 0 {
		child = free
	}
	copy(directory, entry("Root Entry", 5, child, free, add(small), len(small)))
	minis, dir := add(table(mini, sector)), add(directory)
	need, difat, lists, named, tables := allocation(fat, sector)
	data = append(data, tables...)
	shift := map[int]int{512: 9, 4096: 12}[sector]
	head := Join([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 16), U16(0x3e, version, 0xfffe, shift, 6), make([]byte, 6),
		U32(0, need, dir, 0, miniCutoff, minis, (len(mini)*4+sector-1)/sector, difat, lists), table(named[:inHeader], sector)[:4*inHeader])
	return append(pad(head, sector), data...)
}

// allocation makes the sectors of the FAT, need of them, and those of the DIFAT
// that name what the header does not: lists of them, the first being difat.
func allocation(fat []uint32, sector int) (need, difat, lists int, named []uint32, tables []byte) {
	// The FAT has its own sectors in it, and those of the DIFAT that name them.
	first := len(fat)
	need = 1
	for (first+need+lists)*4 > need*sector {
		need++
		lists = (max(need-inHeader, 0) + sector/4 - 2) / (sector/4 - 1)
	}
	named = make([]uint32, max(inHeader, need))
	for i := range named {
		named[i] = free
		if i < need {
			named[i] = uint32(first + i)
			fat = append(fat, 0xfffffffd)
		}
	}
	for range lists {
		fat = append(fat, 0xfffffffc)
	}
	tables, difat = table(fat, sector), endOfChain
	for i := range lists {
		difat = first + need
		part := named[inHeader+i*(sector/4-1):]
		list := table(part[:min(len(part), sector/4-1)], sector)
		next := difat + i + 1
		if i == lists-1 {
			next = endOfChain
		}
		tables = append(tables, Join(list[:sector-4], U32(next))...)
	}
	return need, difat, lists, named, tables
}

// table makes whole sectors of numbers.
func table(list []uint32, sector int) (b []byte) {
	for _, n := range list {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	for len(b)%sector != 0 {
		b = binary.LittleEndian.AppendUint32(b, free)
	}
	return b
}

// Summary makes a summary with a title in a code page.
func Summary(codePage int, title []byte) []byte {
	section := Join(U32(0, 2, 1, 24, 2, 32, 2, codePage&0xffff, 0x1e, len(title)), title)
	return Join(U16(0xfffe, 0), make([]byte, 20), U32(1), make([]byte, 16), U32(48), section)
}
