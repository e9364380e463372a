package links

import (
	"strings"
	"testing"
)

func TestQueryOfALinkKeepsThePagesCharset(t *testing.T) {
	pad := strings.Repeat("<!-- licence -->", 100) // over a KiB
	for _, tc := range []struct{ name, contentType, body, want string }{
		{"undeclared UTF-8", "text/html", "<a href='/é?é'>", "/%C3%A9?%C3%A9"},
		{"undeclared UTF-8 after an ASCII KiB", "text/html", pad + "<a href='/é?é'>", "/%C3%A9?%C3%A9"},
		{"undeclared, not UTF-8", "text/html", "<a href='/\xe9?\xe9'>", "/%C3%A9?%E9"},
		{"server's word", "text/html; charset=iso-8859-1", "<a href='/\xe9?\xe9'>", "/%C3%A9?%E9"},
		{"server's word over the bytes", "text/html; charset=ISO-8859-1", "<a href='/\xc3\xa9'>", "/%C3%83%C2%A9"},
		{"server's unknown word", "text/html; charset=nonsense", "<a href='/é'>", "/%C3%A9"},
		{"server says utf-8, it is not", "text/html; charset=utf-8", "<a href='/\xe9'>", "/%EF%BF%BD"},
		{"meta charset", "text/html", "<meta charset=koi8-r><a href='/\xc1?\xc1'>", "/%D0%B0?%C1"},
		{"meta charset late", "text/html", pad + "<meta charset=koi8-r><a href='/\xc1?\xc1'>", "/%D0%B0?%C1"},
		{"meta http-equiv", "text/html", "<meta http-equiv=Content-Type content='text/html; charset=koi8-r'><a href='/\xc1?\xc1'>", "/%D0%B0?%C1"},
		{"meta of a style sheet", "text/html", "<meta http-equiv=x content='text/html; charset=koi8-r'><a href='?\xe9'>", "/?%E9"},
		{"meta says utf-16", "text/html", "<meta charset=utf-16><a href='/\xe9'>", "/%EF%BF%BD"},
		{"XML declaration", "application/xhtml+xml", "<?xml version='1.0' encoding = \"koi8-r\"?><a href='/\xc1?\xc1'/>", "/%D0%B0?%C1"},
		{"UTF-8 BOM over the server's word", "text/html; charset=iso-8859-1", "\xef\xbb\xbf<a href='/é?é'>", "/%C3%A9?%C3%A9"},
		{"UTF-16LE BOM", "text/html", "\xff\xfe<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00?\x00\xe9\x00>\x00", "/?%C3%A9"},
		{"UTF-16BE BOM", "text/html", "\xfe\xff\x00<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00?\x00\xe9\x00>", "/?%C3%A9"},
		{"Shift_JIS", "text/html; charset=shift_jis", "<a href='/\x93\xfa?\x93\xfa\x96\x7b'>", "/%E6%97%A5?%93%FA%96{"},
		{"not in the charset", "text/html; charset=iso-8859-1", "<a href='?&euro;&#x65e5;'>", "/?%80%26%2326085%3B"},
		{"refused by browsers", "text/html; charset=hz-gb-2312", "<a href='/x'>", "/x"},
		{"ASCII query", "text/html; charset=koi8-r", "<a href='?a=b&amp;c'>", "/?a=b&c"},
	} {
		got := find(t, "http://h/", tc.contentType, tc.body)
		if len(got.Links) != 1 || got.Links[0].Target() != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got.Links, tc.want)
		}
	}
}
