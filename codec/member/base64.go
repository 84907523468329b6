package member

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
)

// pairs are the two letters of standard base64 for each twelve bits, the first lowest.
var pairs = func() (t [1 << 12]uint16) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range t {
		t[i] = uint16(letters[i>>6]) | uint16(letters[i&63])<<8
	}
	return t
}()

// AppendBase64 appends bytes as standard base64: what the library appends, but six bytes
// a turn, for pictures are most of the bodies they are in.
func AppendBase64(dst, src []byte) []byte {
	n := len(dst)
	dst = slices.Grow(dst, base64.StdEncoding.EncodedLen(len(src)))
	out := dst[n:cap(dst)]
	for len(src) >= 8 && len(out) >= 8 {
		v := binary.BigEndian.Uint64(src) // of which the lower two bytes are the next turn's
		binary.LittleEndian.PutUint64(out, uint64(pairs[v>>52])|uint64(pairs[v>>40&0xfff])<<16|
			uint64(pairs[v>>28&0xfff])<<32|uint64(pairs[v>>16&0xfff])<<48)
		src, out, n = src[6:], out[8:], n+8
	}
	return base64.StdEncoding.AppendEncode(dst[:n], src)
}
