package member

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

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
