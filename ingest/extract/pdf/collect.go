package pdf

import (
	"fmt"
	"strings"
)

// collected is what a worker has said of a file so far.
type collected struct {
	title string
	pages []string
	count int // pages, also those without text
	bytes int
	done  bool
}

// add takes the next frame. Errors are [ErrFormat], [ErrEncrypted], [ErrLimit] and, for
// what no worker says, errFrame.
func (c *collected) add(kind byte, payload []byte) error {
	switch kind {
	case Title:
		c.title = string(payload)
	case Page:
		if c.count++; c.count > MaxPages {
			return fmt.Errorf("%w: over %d pages", ErrLimit, MaxPages)
		}
		text := cleanPage(string(payload))
		if c.bytes += len(text); c.bytes > MaxText {
			return fmt.Errorf("%w: over %d bytes of text", ErrLimit, MaxText)
		}
		if text != "" {
			c.pages = append(c.pages, text)
		}
	case End:
		c.done = true
	case Damaged:
		return fmt.Errorf("%w: %s", ErrFormat, said(payload))
	case Encrypted:
		return ErrEncrypted
	case OverLimit:
		return fmt.Errorf("%w: %s", ErrLimit, said(payload))
	default:
		return fmt.Errorf("%w: its kind is %q", errFrame, kind)
	}
	return nil
}

// said gives the words of a worker as a part of one line.
func said(payload []byte) string {
	return strings.Join(strings.Fields(cleanPage(string(payload[:min(len(payload), 200)]))), " ")
}

func (c *collected) document() Document {
	text := joinWords(strings.Join(c.pages, "\n\n"))
	return Document{Title: chooseTitle(c.title, text), Text: []byte(text), Pages: c.count}
}
