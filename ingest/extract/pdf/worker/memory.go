package worker

import (
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// allocate gives an instance its memory. The kernel hands out its pages when
// they are touched: nothing is copied when it grows, and all goes back at the end.
func allocate(_, limit uint64) experimental.LinearMemory {
	pages, err := syscall.Mmap(-1, 0, int(limit), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		pages = nil // it cannot grow: PDFium says that there is no memory
	}
	return mapped{pages}
}

type mapped struct{ pages []byte }

// Reallocate implements [experimental.LinearMemory].
func (m mapped) Reallocate(size uint64) []byte {
	if size > uint64(len(m.pages)) {
		return nil
	}
	return m.pages[:size]
}

// Free implements [experimental.LinearMemory].
func (m mapped) Free() {
	if m.pages != nil {
		syscall.Munmap(m.pages)
	}
}
