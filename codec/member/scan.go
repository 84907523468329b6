package member

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The scanner here checks JSON (RFC 8259) at the speed of a copy, for bodies that are
// passed on and not looked into: megabytes of base64 cost as little as they can. It is
// stricter than the decoder, which takes more (invalid UTF-8, names with escapes): what
// it does not take is not wrong, but the decoder's to judge.

// maxScanDepth bounds the scanner's recursion.
const maxScanDepth = 200

// scanValue gives the end of the value that begins at i; false when the scanner does
// not take it.
func scanValue(b []byte, i, depth int) (int, bool) {
	if i >= len(b) {
		return 0, false
	}
	switch c := b[i]; {
	case c == '"':
		return scanString(b, i)
	case c == '{':
		return scanObject(b, i, depth, nil)
	case c == '[':
		return scanArray(b, i, depth)
	case c == '-' || c-'0' <= 9:
		return scanNumber(b, i)
	case c == 't':
		return scanWord(b, i, "true")
	case c == 'f':
		return scanWord(b, i, "false")
	case c == 'n':
		return scanWord(b, i, "null")
	}
	return 0, false
}

func scanWord(b []byte, i int, word string) (int, bool) {
	end := i + len(word)
	return end, end <= len(b) && string(b[i:end]) == word
}

func scanArray(b []byte, i, depth int) (int, bool) {
	if depth >= maxScanDepth {
		return 0, false
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, true
	}
	for {
		var ok bool
		if i, ok = scanValue(b, i, depth+1); !ok {
			return 0, false
		}
		i = space(b, i)
		switch {
		case i >= len(b):
			return 0, false
		case b[i] == ']':
			return i + 1, true
		case b[i] != ',':
			return 0, false
		}
		i = space(b, i+1)
	}
}

// scanObject scans an object whose names are all different, and tells visit of each
// member: its quoted name and its value, as ranges of b.
func scanObject(b []byte, i, depth int, visit func(name, value span)) (int, bool) {
	if depth >= maxScanDepth {
		return 0, false
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	var seen names
	for {
		name, end, ok := scanName(b, i)
		if !ok || !seen.add(b, name) {
			return 0, false
		}
		i = space(b, end)
		if i >= len(b) || b[i] != ':' {
			return 0, false
		}
		value := span{from: space(b, i+1)}
		if value.to, ok = scanValue(b, value.from, depth+1); !ok {
			return 0, false
		}
		if visit != nil {
			visit(name, value)
		}
		i = space(b, value.to)
		switch {
		case i >= len(b):
			return 0, false
		case b[i] == '}':
			return i + 1, true
		case b[i] != ',':
			return 0, false
		}
		i = space(b, i+1)
	}
}

// span is a range of the body.
type span struct{ from, to int }

// scanName gives a member's name, without its quotes, and the end of it. Names with
// escapes are not taken: they could be duplicates in disguise.
func scanName(b []byte, i int) (span, int, bool) {
	if i >= len(b) || b[i] != '"' {
		return span{}, 0, false
	}
	end, ok := scanString(b, i)
	if !ok || bytes.IndexByte(b[i:end], '\\') >= 0 {
		return span{}, 0, false
	}
	return span{i + 1, end - 1}, end, true
}

// names are the names of an object so far.
type names struct {
	few  [12]span
	n    int
	many map[string]struct{}
}

// add notes a name, unless it was there.
func (s *names) add(b []byte, name span) bool {
	text := b[name.from:name.to]
	if s.many != nil {
		if _, ok := s.many[string(text)]; ok {
			return false
		}
		s.many[string(text)] = struct{}{}
		return true
	}
	for _, other := range s.few[:s.n] {
		if bytes.Equal(b[other.from:other.to], text) {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return true
	}
	s.many = make(map[string]struct{}, 2*len(s.few))
	for _, other := range s.few {
		s.many[string(b[other.from:other.to])] = struct{}{}
	}
	s.many[string(text)] = struct{}{}
	return true
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of a word of text at which a string ends or needs a look:
// the quote, the backslash and control characters. Bytes above the lowest that is
// marked may be marked for nothing.
func special(w uint64) uint64 {
	quote, backslash := w^(ones*'"'), w^(ones*'\\')
	return ((w - ones*0x20) | (quote - ones) | (backslash - ones)) &^ w & highs
}

// String gives the end of the string whose quote is at i; false when it is not there in
// full, or the scanner does not take it.
func String(b []byte, i int) (end int, ok bool) { return scanString(b, i) }

// scanString gives the end of the string whose quote is at i.
func scanString(b []byte, i int) (int, bool) {
	i++
	start, foreign := i, uint64(0)
	for {
		for i+32 <= len(b) {
			four := (*[32]byte)(b[i:])
			w0, w1 := binary.LittleEndian.Uint64(four[0:]), binary.LittleEndian.Uint64(four[8:])
			w2, w3 := binary.LittleEndian.Uint64(four[16:]), binary.LittleEndian.Uint64(four[24:])
			if special(w0)|special(w1)|special(w2)|special(w3) != 0 {
				break
			}
			foreign |= w0 | w1 | w2 | w3
			i += 32
		}
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			foreign |= w
			if m := special(w); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return 0, false
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, foreign&highs == 0 || utf8.Valid(b[start:i])
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return 0, false
			}
			i += n
		case c < 0x20:
			return 0, false
		default:
			foreign |= uint64(c)
			i++
		}
	}
}

// escape gives the length of the escape that b begins with; 0 for none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if c-'0' > 9 && c|0x20-'a' > 5 {
				return 0
			}
		}
		return 6
	}
	return 0
}

func scanNumber(b []byte, i int) (int, bool) {
	if b[i] == '-' {
		i++
	}
	start := i
	i = digits(b, i)
	if i == start || b[start] == '0' && i > start+1 {
		return 0, false
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = digits(b, start); i == start {
			return 0, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = digits(b, start); i == start {
			return 0, false
		}
	}
	return i, true
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}
