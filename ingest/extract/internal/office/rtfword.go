package office

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
)

// starred takes the mark \*: a group whose control word is not known is left
// out.
func (r *rtfReader) starred() {
	rest := bytes.TrimLeft(r.rest, "\r\n")
	word := rest[min(1, len(rest)):]
	n := 0
	for n < len(word) && n < maxRTFWord && word[n] >= 'a' && word[n] <= 'z' {
		n++
	}
	switch string(word[:n]) {
	case "shpinst", "ud", "footnote":
	default:
		r.to = toNothing
	}
}

// word takes a control word with its number.
func (r *rtfReader) word(word string, value int, has bool) error {
	if err := r.decode(); err != nil {
		return err
	}
	if text := characterOf(word); text != "" {
		return r.put(text)
	}
	r.ignored = 0
	on := !has || value != 0
	switch word {
	case "bin":
		if value > len(r.rest) {
			return fmt.Errorf("%w: rtf: %d bytes of data are cut short", ErrFormat, value)
		}
		r.rest = r.rest[max(value, 0):]
	case "u":
		return r.unicode(value)
	case "uc":
		r.skip = min(max(value, 0), 16)
	case "upr":
		r.hidden, r.to = r.to == toText, toNothing
	case "ud":
		if r.hidden {
			r.to = toText
		}
	case "ansicpg":
		r.code = value
	case "mac":
		r.code = codePageMac
	case "pc":
		r.code = 437
	case "pca":
		r.code = 850
	case "deff":
		r.defaultFont, r.font = value, value
	case "f":
		r.font = value
	case "fcharset", "cpg":
		return r.fontCode(word, value)
	case "plain":
		r.font, r.deleted = r.defaultFont, false
	case "deleted":
		r.deleted = on
	case "s":
		r.style = value
	case "ls":
		r.item = value > 0
	case "intbl":
		r.inTable = on
	case "pard":
		r.style, r.item, r.inTable = 0, false, false
	case "par", "sect":
		return r.endParagraph()
	case "cell", "row":
		return r.endCell(word)
	default:
		r.enter(word)
	}
	return nil
}

// enter takes the first word of a group that goes elsewhere.
func (r *rtfReader) enter(word string) {
	if r.to == toNothing && !r.info {
		return
	}
	switch word {
	case "fonttbl":
		r.to = toFonts
	case "stylesheet":
		r.to = toStyles
	case "info":
		r.info, r.to = true, toNothing
	case "title":
		if r.info {
			r.to = toTitle
		}
	case "listtext", "pntext": // the number or bullet of an item
		r.to = toNothing
		if len(r.outer) > 0 {
			r.outer[len(r.outer)-1].item = true
		}
	case "footnote":
		r.flow = &story{out: r.notes}
		r.inTable = false
	case "shptxt":
		r.flow = &story{out: r.flow.out}
		r.inTable = false
	case "colortbl", "filetbl", "revtbl", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf",
		"ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "pict", "nonshppict", "shprslt", "objdata", "objclass", "objname",
		"fldinst", "fldtype", "formfield", "xe", "tc", "rxe", "txe", "annotation", "atnid", "atnauthor", "bkmkstart", "bkmkend",
		"nonesttables", "nesttableprops", "sn", "sv", "template", "falt", "panose", "themedata", "datastore", "private", "pntxta", "pntxtb",
		"gridtbl", "datafield", "keycode", "operator", "author":
		r.to = toNothing
	}
}

// characterOf gives the character that a control word stands for.
func characterOf(word string) string {
	switch word {
	case "tab", "nestcell", "emspace", "enspace", "qmspace":
		return " "
	case "line", "lbr", "page", "column", "softline", "softpage":
		return "\n"
	case "emdash":
		return "—"
	case "endash":
		return "–"
	case "lquote":
		return "‘"
	case "rquote":
		return "’"
	case "ldblquote":
		return "“"
	case "rdblquote":
		return "”"
	case "bullet":
		return "•"
	}
	return ""
}

// unicode takes a \u, which is a number of UTF-16 with a sign.
func (r *rtfReader) unicode(value int) error {
	c := rune(uint16(value))
	high := r.high
	r.high = 0
	switch {
	case utf16.IsSurrogate(c) && c < 0xdc00:
		r.high, r.ignored = c, r.skip
		return nil
	case utf16.IsSurrogate(c):
		c = utf16.DecodeRune(high, c)
	}
	err := r.write(string(c))
	r.ignored = r.skip
	return err
}

// fontCode takes the charset or code page of the font that is described.
func (r *rtfReader) fontCode(word string, value int) error {
	if r.to != toFonts {
		return nil
	}
	if word == "fcharset" {
		value = charsetCode(value)
	}
	if len(r.fonts) >= maxRTFTable {
		return fmt.Errorf("%w: over %d fonts", ErrTooLarge, maxRTFTable)
	}
	if value > 0 {
		r.fonts[r.font] = value
	}
	return nil
}

// charsetCode gives the code page of a charset of fonts, 0 for the file's own
// (section Font Table).
func charsetCode(charset int) int {
	switch charset {
	case 0:
		return codePageANSI
	case 77:
		return codePageMac
	case 128:
		return 932
	case 129, 130:
		return 949
	case 134:
		return 936
	case 136:
		return 950
	case 161, 162:
		return 1253 + charset - 161
	case 163:
		return 1258
	case 177, 178:
		return 1255 + charset - 177
	case 186:
		return 1257
	case 204:
		return 1251
	case 222:
		return 874
	case 238:
		return 1250
	case 254:
		return 437
	case 255:
		return 850
	}
	return 0
}

// endStyle keeps a style that is a heading. Its name has a semicolon after it.
func (r *rtfReader) endStyle(style int) {
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(r.name.String())), ";")
	r.name.Reset()
	if level := headingLevel(name); level > 0 && len(r.levels) < maxRTFTable {
		r.levels[style] = level
	}
}

func (r *rtfReader) endParagraph() error {
	if err := r.decode(); err != nil || r.to != toText {
		return err
	}
	return r.flow.endParagraph(r.levels[r.style], r.item, r.inTable)
}

func (r *rtfReader) endCell(word string) error {
	switch {
	case r.to != toText:
		return nil
	case word == "row":
		return r.flow.endRow()
	}
	return r.flow.endCell()
}

// byte takes a character in the font's code page.
func (r *rtfReader) byte(c byte) error {
	switch {
	case r.ignored > 0:
		r.ignored--
	case r.to != toNothing:
		if r.run = append(r.run, c); len(r.run) > maxText {
			return r.decode()
		}
	}
	return nil
}

// decode writes the characters that have come in one code page.
func (r *rtfReader) decode() error {
	if len(r.run) == 0 {
		return nil
	}
	code, ok := r.fonts[r.font]
	if !ok {
		code = r.code
	}
	text := decode(code, r.run)
	r.run = r.run[:0]
	return r.write(text)
}

// put writes a character, or skips it where it stands for a \u.
func (r *rtfReader) put(text string) error {
	if r.ignored > 0 {
		r.ignored--
		return nil
	}
	if err := r.decode(); err != nil {
		return err
	}
	return r.write(text)
}

func (r *rtfReader) write(text string) error {
	switch r.to {
	case toText:
		if !r.deleted {
			return r.flow.add(text)
		}
	case toStyles:
		if r.name.Len() < maxTitle {
			r.name.WriteString(text)
		}
	case toTitle:
		if r.title.Len() < maxTitle {
			r.title.WriteString(text)
		}
	}
	return nil
}
