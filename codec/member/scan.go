package member

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The scanner here checks JSON (RFC 8259) at the speed of a copy, for bodies that are
// passed on and not looked into: megabytes of base64 cost as little as they can. It is
// stricter than the decoder, which takes more (invalid UTF-8, names with escapes): what
// it does not take is not wrong, but the decoder's to judge.

// maxScanDepth bounds the scanner's recursion.
const maxScanDepth = 200

// scanner walks over a body once. Whatever there is to be known of it but its members
// is found on the way.
type scanner struct {
	b []byte
	// look gathers statistics of the values that are strings; nil gathers none.
	look       *Look
	statistics Statistics
	// signs are the signs of the string that was the last value.
	signs Signs
	// elements are the elements of the array that ended last.
	elements int
	// names are the names of the members of the objects that are open.
	names names
}

// value returns the end of the value that begins at i; false when the scanner does not
// take it.
func (s *scanner) value(i, depth int) (int, bool) {
	if i >= len(s.b) {
		return 0, false
	}
	switch c := s.b[i]; {
	case c == '"':
		end, ok := String(s.b, i)
		if ok && s.look != nil {
			s.signs = s.statistics.note(s.b[i+1:end-1], s.look)
		}
		return end, ok
	case c == '{':
		return s.object(i, depth, nil)
	case c == '[':
		return s.array(i, depth)
	case c == '-' || c-'0' <= 9:
		return number(s.b, i)
	case c == 't':
		return word(s.b, i, "true")
	case c == 'f':
		return word(s.b, i, "false")
	case c == 'n':
		return word(s.b, i, "null")
	}
	return 0, false
}

func (s *scanner) array(i, depth int) (int, bool) {
	if depth >= maxScanDepth {
		return 0, false
	}
	i = space(s.b, i+1)
	if i < len(s.b) && s.b[i] == ']' {
		s.elements = 0
		return i + 1, true
	}
	for n := 1; ; n++ {
		var ok bool
		if i, ok = s.value(i, depth+1); !ok {
			return 0, false
		}
		i = space(s.b, i)
		switch {
		case i >= len(s.b):
			return 0, false
		case s.b[i] == ']':
			s.elements = n
			return i + 1, true
		case s.b[i] != ',':
			return 0, false
		}
		i = space(s.b, i+1)
	}
}

// object scans an object whose names are all different, and adds its members to o,
// unless that is nil.
func (s *scanner) object(i, depth int, o *TopIndex) (int, bool) {
	if depth >= maxScanDepth {
		return 0, false
	}
	i = space(s.b, i+1)
	if i < len(s.b) && s.b[i] == '}' {
		return i + 1, true
	}
	seen := s.names.open()
	var result, named bool
	for {
		name, end, ok := scanName(s.b, i)
		if !ok || !s.names.add(s.b, &seen, name) {
			return 0, false
		}
		i = space(s.b, end)
		if i >= len(s.b) || s.b[i] != ':' {
			return 0, false
		}
		value := span{from: space(s.b, i+1)}
		if value.to, ok = s.value(value.from, depth+1); !ok {
			return 0, false
		}
		if o != nil {
			o.add(name, value, s.elements)
		}
		if s.look != nil && s.b[value.from] == '"' {
			result = result || s.signs&Result != 0 && string(s.b[name.from:name.to]) == s.look.Kind
			named = named || value.to-value.from > 2 && string(s.b[name.from:name.to]) == s.look.ID
		}
		i = space(s.b, value.to)
		switch {
		case i >= len(s.b):
			return 0, false
		case s.b[i] == '}':
			s.names.close(seen)
			if result && !named {
				s.statistics.Signs |= Result
			}
			return i + 1, true
		case s.b[i] != ',':
			return 0, false
		}
		i = space(s.b, i+1)
	}
}

// span is a range of the body.
type span struct{ from, to int }

// scanName returns a member's name, without its quotes, and the end of it. Names with
// escapes are not taken: they could be duplicates in disguise.
func scanName(b []byte, i int) (span, int, bool) {
	if i >= len(b) || b[i] != '"' {
		return span{}, 0, false
	}
	end, ok := String(b, i)
	if !ok || bytes.IndexByte(b[i:end], '\\') >= 0 {
		return span{}, 0, false
	}
	return span{i + 1, end - 1}, end, true
}

func word(b []byte, i int, word string) (int, bool) {
	end := i + len(word)
	return end, end <= len(b) && string(b[i:end]) == word
}

func number(b []byte, i int) (int, bool) {
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
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// A string is most of what a body is, so eight bytes of it are looked at in one word.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, by their highest bits, the bytes of a word at which a string ends or
// needs a look: the quote, the backslash, control characters and all that is not ASCII.
// Of ASCII only the quote and control characters are less than 0x21 once their second
// bit is turned. What is subtracted is less than what it is subtracted from, so that no
// byte borrows from the next.
func special(w uint64) uint64 {
	low, slash := (w^ones*0x02|highs)-ones*0x21, (w^ones*'\\'|highs)-ones
	return ^(low & slash) | w
}

// marks gathers the marks of a word in eight bits: the multiplication moves the highest
// bit of each byte to its place in the topmost.
func marks(w uint64) uint32 { return uint32((w & highs) * 0x0002040810204081 >> 56) }

// String returns the end of the string whose quote is at i; false when it is not there in
// full, or the scanner does not take it.
func String(b []byte, i int) (end int, ok bool) {
	i++
	for long := i + stride/16; i+32 <= len(b); {
		if i >= long { // as base64 is
			i = plain(b, i)
			if long = i + stride; i+32 > len(b) {
				break
			}
		}
		four := (*[32]byte)(b[i:])
		w0, w1 := special(binary.LittleEndian.Uint64(four[0:])), special(binary.LittleEndian.Uint64(four[8:]))
		w2, w3 := special(binary.LittleEndian.Uint64(four[16:])), special(binary.LittleEndian.Uint64(four[24:]))
		if (w0|w1|w2|w3)&highs == 0 {
			i += 32
			continue
		}
		// The places of marks cannot be predicted, by the processor either: the loop visits
		// all of them without a branch on their places.
		m := marks(w0) | marks(w1)<<8 | marks(w2)<<16 | marks(w3)<<24
		next := i + 32
		for m != 0 {
			place := bits.TrailingZeros32(m)
			at := i + place
			if b[at] == '"' {
				return at + 1, true
			}
			if b[at] == '\\' && at+1 < len(b) && escapes[b[at+1]] {
				m &^= 3 << place
				next = max(next, at+2)
				continue
			}
			if next = unusual(b, at); next < 0 {
				return 0, false
			}
			break
		}
		i = next
	}
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c >= 0x20 && c != '\\' && c < utf8.RuneSelf:
			i++
		default:
			if i = unusual(b, i); i < 0 {
				return 0, false
			}
		}
	}
	return 0, false
}

// stride is how many bytes plain looks at together.
const stride = 4 << 10

// plain skips bytes of a string that are ASCII without a quote, a backslash or a control character, in strides. The
// processor looks for one byte many times faster than words can be compared with it.
func plain(b []byte, i int) int {
	for ; i+stride <= len(b); i += stride {
		piece := b[i : i+stride]
		if bytes.IndexByte(piece, '\\') >= 0 {
			break
		}
		found := uint64(0)
		for at := 0; at < stride; at += 32 {
			four := (*[32]byte)(piece[at:])
			w0, w1 := binary.LittleEndian.Uint64(four[0:]), binary.LittleEndian.Uint64(four[8:])
			w2, w3 := binary.LittleEndian.Uint64(four[16:]), binary.LittleEndian.Uint64(four[24:])
			// As in special, but that a byte which is less borrows of the next: then the byte itself is marked, too.
			found |= w0 | (w0 ^ ones*0x02 - ones*0x21) | w1 | (w1 ^ ones*0x02 - ones*0x21) | w2 | (w2 ^ ones*0x02 - ones*0x21) | w3 | (w3 ^ ones*0x02 - ones*0x21)
		}
		if found&highs != 0 {
			break
		}
	}
	return i
}

// escapes are what a backslash makes one character with.
var escapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// unusual returns the end of the escape or of the letters that are not ASCII at i; -1 when
// there is something that no string has.
func unusual(b []byte, i int) int {
	switch {
	case b[i] >= utf8.RuneSelf:
		return letters(b, i)
	case b[i] != '\\' || i+1 >= len(b):
		return -1
	case escapes[b[i+1]]:
		return i + 2
	case b[i+1] != 'u' || i+6 > len(b):
		return -1
	}
	for _, c := range b[i+2 : i+6] {
		if c-'0' > 9 && c|0x20-'a' > 5 {
			return -1
		}
	}
	return i + 6
}

// letters returns the end of the letters at i that are not ASCII; -1 when they are not
// UTF-8. Most scripts take three bytes a letter, which are looked at together.
func letters(b []byte, i int) int {
	for i < len(b) && b[i] >= utf8.RuneSelf {
		if i+4 <= len(b) {
			if w := binary.LittleEndian.Uint32(b[i:]); w&0xc0c0f0 == 0x8080e0 {
				// The four bits that the first byte has of the letter, and the highest
				// that the second has: 0 is a letter that needs no three bytes, d with
				// the bit a surrogate.
				if v := w & 0x200f; v == 0 || v == 0x200d {
					return -1
				}
				i += 3
				continue
			}
		}
		_, n := utf8.DecodeRune(b[i:])
		if n == 1 {
			return -1
		}
		i += n
	}
	return i
}

// room is what AppendQuote writes at most between two looks at how much of it is left: a
// word that is stored whole, an escape, and the quote at the end.
const room = 4*8 + len(`\u001f`) + 1

// AppendQuote appends a string as JSON: what JSON demands is escaped and nothing else,
// and bytes that are not UTF-8 become U+FFFD. It writes what jsontext.AppendQuote does,
// but stores words of eight bytes, of which as many count as need no escape.
func AppendQuote(dst []byte, s string) []byte {
	n := len(dst) + 1
	dst = slices.Grow(dst, len(s)+len(s)/32+room+1)
	dst = dst[:cap(dst)]
	dst[n-1] = '"'
	for i := 0; i < len(s); {
		if len(dst)-n < room {
			dst = slices.Grow(dst[:n], len(s)-i+len(s)/8+room)
			dst = dst[:cap(dst)]
		}
		if i+8 <= len(s) {
			w := word64(s[i:])
			binary.LittleEndian.PutUint64(dst[n:], w)
			m := special(w) & highs
			if m == 0 {
				n, i = n+8, i+8
				continue
			}
			plain := bits.TrailingZeros64(m) / 8
			n, i = n+plain, i+plain
		}
		c := s[i]
		switch short := escapeLetters[c]; {
		case c >= utf8.RuneSelf:
			end := lettersEnd(s, i)
			if end-i <= 8 && i+8 <= len(s) {
				binary.LittleEndian.PutUint64(dst[n:], word64(s[i:]))
				dst = dst[:n+end-i]
			} else {
				dst = append(dst[:n], s[i:end]...)
			}
			if end < len(s) && s[end] >= utf8.RuneSelf {
				dst = append(dst, "\ufffd"...)
				end++
			}
			n, i = len(dst), end
			dst = dst[:cap(dst)]
		case short == 0: // needs no escape
			dst[n] = c
			n, i = n+1, i+1
		case short != 'u':
			dst[n], dst[n+1] = '\\', short
			n, i = n+2, i+1
		default:
			const hex = "0123456789abcdef"
			copy(dst[n:], `\u00`)
			dst[n+4], dst[n+5] = hex[c>>4], hex[c&15]
			n, i = n+6, i+1
		}
	}
	dst[n] = '"'
	return dst[:n+1]
}

// lettersEnd returns the end of the letters at i that are not ASCII: a byte behind them that
// is not ASCII is of none. Those of two and three bytes, which most are, are looked at
// together.
func lettersEnd(s string, i int) int {
	for i < len(s) && s[i] >= utf8.RuneSelf {
		if i+4 <= len(s) {
			w := uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
			if v := w & 0x200f; w&0xc0c0f0 == 0x8080e0 && v != 0 && v != 0x200d {
				i += 3
				continue
			}
			if w&0xc0e0 == 0x80c0 && w&0x1e != 0 {
				i += 2
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// escapeLetters has the letter of the escape of each character that needs one.
var escapeLetters = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't',
	0: 'u', 1: 'u', 2: 'u', 3: 'u', 4: 'u', 5: 'u', 6: 'u', 7: 'u', 11: 'u', 14: 'u', 15: 'u', 16: 'u', 17: 'u', 18: 'u', 19: 'u',
	20: 'u', 21: 'u', 22: 'u', 23: 'u', 24: 'u', 25: 'u', 26: 'u', 27: 'u', 28: 'u', 29: 'u', 30: 'u', 31: 'u'}

// word64 is the first eight bytes of a string, which the compiler loads at once.
func word64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// unquote adds what a string says whose text String has taken. False says that half of
// a surrogate pair is in it, which is no letter.
func unquote(to, text []byte) ([]byte, bool) {
	for {
		n := bytes.IndexByte(text, '\\')
		if n < 0 {
			return append(to, text...), true
		}
		to = append(to, text[:n]...)
		c := text[n+1]
		text = text[n+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			letter := hex(text)
			text = text[4:]
			if utf16.IsSurrogate(letter) {
				if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
					return to, false
				}
				if letter = utf16.DecodeRune(letter, hex(text[2:])); letter == utf8.RuneError {
					return to, false
				}
				text = text[6:]
			}
			to = utf8.AppendRune(to, letter)
			continue
		}
		to = append(to, c)
	}
}

// hex returns the number that four digits are.
func hex(digits []byte) rune {
	var n rune
	for _, c := range digits[:4] {
		if c -= '0'; c > 9 {
			c = (c + '0') | 0x20 - 'a' + 10
		}
		n = n<<4 | rune(c)
	}
	return n
}

// OneLine takes the line breaks out of JSON that came with them: they would end the data of a server-sent event. What is no
// JSON stays as it is.
func OneLine(data []byte) []byte {
	if bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
		return data
	}
	compact := append(jsontext.Value{}, data...)
	if compact.Compact(jsontext.AllowInvalidUTF8(true)) != nil {
		return data
	}
	return compact
}
