package member

import "encoding/binary"

// words are short strings that were read lately: the names of roles, types and models
// that are in body after body need no memory of their own.
type words [128]string

// maxWord bounds the strings that are kept.
const maxWord = 48

// text returns a string that says what is in b.
func (w *words) text(b []byte) string {
	var mix uint64
	switch n := len(b); {
	case n == 0 || n > maxWord:
		return string(b)
	case n >= 8:
		mix = binary.LittleEndian.Uint64(b) ^ binary.LittleEndian.Uint64(b[n-8:])<<1
	case n >= 4:
		mix = uint64(binary.LittleEndian.Uint32(b)) ^ uint64(binary.LittleEndian.Uint32(b[n-4:]))<<17
	default:
		mix = uint64(b[0]) ^ uint64(b[n/2])<<8 ^ uint64(b[n-1])<<16
	}
	place := &w[mix*0x9e3779b97f4a7c15>>57]
	if *place != string(b) {
		*place = string(b)
	}
	return *place
}
