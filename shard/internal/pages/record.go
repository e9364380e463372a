package pages

import (
	"encoding/binary"
	"math"
)

// varint reads a number of SQLite's, and returns what comes after it.
func varint(b []byte) (v uint64, rest []byte, ok bool) {
	for i := range min(len(b), 9) {
		if i == 8 {
			return v<<8 | uint64(b[i]), b[9:], true
		}
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}

// record takes a row apart into values of its own. Its length must be what its
// columns take.
func record(b []byte) (values []any, ok bool) {
	size, rest, ok := varint(b)
	if !ok || size > uint64(len(b)) || size < uint64(len(b)-len(rest)) {
		return nil, false
	}
	types, content := rest[:int(size)-(len(b)-len(rest))], b[size:]
	for len(types) > 0 {
		var kind uint64
		if kind, types, ok = varint(types); !ok || len(values) == MaxColumns {
			return nil, false
		}
		n := contentSize(kind)
		if n > uint64(len(content)) {
			return nil, false
		}
		v, ok := value(kind, content[:n])
		if !ok {
			return nil, false
		}
		values, content = append(values, v), content[n:]
	}
	return values, len(content) == 0
}

// contentSize returns how many bytes a value of a kind takes.
func contentSize(kind uint64) uint64 {
	switch {
	case kind >= 12:
		return (kind - 12) / 2
	case kind == 5:
		return 6
	case kind == 6 || kind == 7:
		return 8
	case kind <= 4:
		return kind
	}
	return 0
}

func value(kind uint64, b []byte) (v any, ok bool) {
	switch {
	case kind == 0:
		return nil, true
	case kind <= 6:
		n := int64(int8(b[0]))
		for _, c := range b[1:] {
			n = n<<8 | int64(c)
		}
		return n, true
	case kind == 7:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), true
	case kind == 8 || kind == 9:
		return int64(kind - 8), true
	case kind < 12:
		return nil, false // of no use in a file
	case kind%2 == 0:
		return append([]byte{}, b...), true
	}
	return string(b), true
}
