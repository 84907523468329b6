package member

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

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
