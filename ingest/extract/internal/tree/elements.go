package tree

import "golang.org/x/net/html/atom"

// An elementKind says which rules a tag follows in the body.
type elementKind int

const (
	ordinary   elementKind = iota // or with a rule of its own
	block                         // ends a paragraph, and its end tag what is open inside
	formatting                    // whose end must be its own
	void                          // without content
	tablePart                     // has a meaning within a table alone; head and frame have none in the body
	odd                           // takes rules that are not here
)

func kindOf(tag atom.Atom) elementKind {
	switch tag {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Details, atom.Dialog, atom.Dir,
		atom.Div, atom.Dl, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Header, atom.Hgroup,
		atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Pre, atom.Search, atom.Section,
		atom.Summary, atom.Ul:
		return block
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small,
		atom.Strike, atom.Strong, atom.Tt, atom.U:
		return formatting
	case atom.Area, atom.Br, atom.Embed, atom.Img, atom.Input, atom.Keygen, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return void
	case atom.Caption, atom.Col, atom.Colgroup, atom.Frame, atom.Head, atom.Tbody, atom.Td, atom.Tfoot, atom.Th,
		atom.Thead, atom.Tr:
		return tablePart
	case atom.Html, atom.Body, atom.Frameset, atom.Template, atom.Applet, atom.Marquee, atom.Object, atom.Image,
		atom.Plaintext, atom.Xmp, atom.Select, atom.Option, atom.Optgroup, atom.Rb, atom.Rtc, atom.Rp, atom.Rt,
		atom.Math, atom.Svg:
		return odd
	}
	return ordinary
}

func isFormatting(tag atom.Atom) bool { return kindOf(tag) == formatting }

func isHeading(tag atom.Atom) bool {
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// isImplied reports whether the end tag of such an element may be left out where
// the element around it ends.
func isImplied(tag atom.Atom) bool {
	switch tag {
	case atom.Dd, atom.Dt, atom.Li, atom.P:
		return true
	}
	return false
}

// isSpecial reports whether an element is one of the standard's "special" ones, of
// those that can be open on a plain page: an end tag of inline markup does not
// reach out of them.
func isSpecial(tag atom.Atom) bool {
	switch tag {
	case atom.Dialog, atom.Search: // x/net/html counts them as ordinary
		return false
	case atom.Html, atom.Head, atom.Body, atom.Form, atom.Button, atom.Dd, atom.Dt, atom.Li, atom.Table:
		return true
	}
	switch kindOf(tag) {
	case block, tablePart:
		return true
	}
	return isHeading(tag)
}
