package member

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

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
	for i+32 <= len(b) {
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
