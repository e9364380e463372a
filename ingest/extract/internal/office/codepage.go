package office

import (
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"arborist/ingest/extract/internal/office/cfb"
)

const (
	codePageUTF8 = 65001
	codePageMac  = 10000
	codePageANSI = 1252
)

// codePage gives the encoding with a number of Windows, and that of Western
// Europe for one that it does not know.
func codePage(number int) encoding.Encoding {
	switch number {
	case 437:
		return charmap.CodePage437
	case 850:
		return charmap.CodePage850
	case 852:
		return charmap.CodePage852
	case 855:
		return charmap.CodePage855
	case 858:
		return charmap.CodePage858
	case 860:
		return charmap.CodePage860
	case 862:
		return charmap.CodePage862
	case 863:
		return charmap.CodePage863
	case 865:
		return charmap.CodePage865
	case 866:
		return charmap.CodePage866
	case 874:
		return charmap.Windows874
	case 932:
		return japanese.ShiftJIS
	case 936, 54936:
		return simplifiedchinese.GB18030
	case 949, 1361:
		return korean.EUCKR
	case 950:
		return traditionalchinese.Big5
	case cfb.CodePageUTF16:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case 1250, 1251, 1253, 1254, 1255, 1256, 1257, 1258:
		return [...]encoding.Encoding{
			charmap.Windows1250, charmap.Windows1251, charmap.Windows1252, charmap.Windows1253, charmap.Windows1254,
			charmap.Windows1255, charmap.Windows1256, charmap.Windows1257, charmap.Windows1258,
		}[number-1250]
	case codePageMac, 0x8000: // the second in workbooks
		return charmap.Macintosh
	case 10007:
		return charmap.MacintoshCyrillic
	case 20866:
		return charmap.KOI8R
	case 21866:
		return charmap.KOI8U
	case 28592, 28595, 28597, 28599:
		return map[int]encoding.Encoding{28592: charmap.ISO8859_2, 28595: charmap.ISO8859_5, 28597: charmap.ISO8859_7, 28599: charmap.ISO8859_9}[number]
	case codePageUTF8:
		return unicode.UTF8
	}
	return charmap.Windows1252
}

// decode gives the text of bytes in a code page. Wrong ones become U+FFFD.
func decode(number int, b []byte) string {
	if number != cfb.CodePageUTF16 && isASCII(b) {
		return string(b)
	}
	text, err := codePage(number).NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	return string(text)
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
