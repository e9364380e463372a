package car

import (
	"context"
	"errors"
	"fmt"
	"io"

	"arborist/document"
)

// An Archive is one whose blocks were all verified.
type Archive struct {
	file  io.ReaderAt
	roots []link
	index index
}

// Each calls fn with each document of the archive, in its order, until there
// are no more or fn fails. A document that its blocks do not make up ends it
// with an error that wraps [ErrFormat]; what fn was given before stays good.
func (a *Archive) Each(ctx context.Context, fn func(Item) error) error {
	// The same manifest twice would be a short way to very many documents.
	seen := make(map[link]bool)
	one := func(l link) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if seen[l] {
			return formatErrorf("document %s is listed twice", l)
		}
		seen[l] = true
		item, err := a.document(l)
		if err != nil {
			return fmt.Errorf("document %s: %w", l, err)
		}
		return fn(item)
	}
	for _, root := range a.roots {
		block, err := a.block(root)
		if err != nil {
			return err
		}
		if !isCollection(block) {
			if err := one(root); err != nil {
				return err
			}
			continue
		}
		c, err := decodeCollection(block)
		if err != nil {
			return fmt.Errorf("root %s: %w", root, err)
		}
		if err := a.links(c.documents, c.lists, codecDagCBOR, one); err != nil {
			return err
		}
	}
	return nil
}

// links calls fn with links, or with what the lists have that they lead to.
func (a *Archive) links(all []link, lists bool, codec byte, fn func(link) error) error {
	for _, l := range all {
		if !lists {
			if err := fn(l); err != nil {
				return err
			}
			continue
		}
		block, err := a.block(l)
		if err != nil {
			return err
		}
		part, err := decodeList(block, codec)
		if err != nil {
			return fmt.Errorf("list %s: %w", l, err)
		}
		if err := a.links(part, false, codec, fn); err != nil {
			return err
		}
	}
	return nil
}

// document puts a document together and verifies it.
func (a *Archive) document(l link) (item Item, err error) {
	block, err := a.block(l)
	if err != nil {
		return item, err
	}
	m, err := decodeManifest(block)
	if err != nil {
		return item, err
	}
	if block, err = a.block(m.header); err != nil {
		return item, err
	}
	header, err := document.ParseHeader(block)
	if err != nil {
		return item, formatErrorf("header %s: %w", m.header, err)
	}
	// Grows with what is there, not with what the header says.
	var text []byte
	chunks := uint64(0)
	err = a.links(m.chunks, m.lists, codecRaw, func(l link) error {
		block, err := a.block(l)
		if err != nil {
			return err
		}
		if chunks++; len(block) < 2 || block[0] != 0 || chunks > header.Chunks || uint64(len(text)+len(block)-1) > header.Bytes {
			return formatErrorf("chunk %s is no chunk, or there are more than the header says", l)
		}
		text = append(text, block[1:]...)
		return nil
	})
	if err != nil {
		return item, err
	}
	if item.Document, err = document.Verify(header, text); err != nil {
		return item, formatErrorf("%w", err)
	}
	item.Locations = m.locations
	return item, nil
}

// block reads a block, which was verified when the archive was opened, and
// verifies it again: the file may have changed since.
func (a *Archive) block(l link) ([]byte, error) {
	for _, e := range a.index.find(l) {
		b := make([]byte, e.size)
		if _, err := a.file.ReadAt(b, e.offset); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if linkTo(l.codec(), b) == l {
			return b, nil
		}
	}
	return nil, formatErrorf("block %s is not in it, or changed while it was read", l)
}
