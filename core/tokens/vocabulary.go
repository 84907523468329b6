package tokens

import (
	"bytes"
	"compress/flate"
	_ "embed" // the vocabulary
	"encoding/binary"
	"io"
	"sync"
)

// packed is o200k_base: deflated, each token by its length and its bytes, in the order
// of ranks. As Go source it would be 6 MB of each binary.
//
//go:embed o200k.deflate
var packed []byte

// vocabulary is how many tokens there are.
const vocabulary = 199_998

// ranks are the tokens' places, unpacked by the first call.
var ranks = sync.OnceValue(func() map[string]uint32 {
	known := make(map[string]uint32, vocabulary)
	for rank, token := range unpack(packed) {
		known[token] = uint32(rank)
	}
	return known
})

// unpack gives the tokens of a packed vocabulary. They share one text.
func unpack(packed []byte) []string {
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		panic("tokens: the vocabulary: " + err.Error()) // it is part of the binary
	}
	text := string(plain)
	tokens := make([]string, 0, vocabulary)
	for at := 0; at < len(plain); {
		length, size := binary.Uvarint(plain[at:])
		at += size
		tokens = append(tokens, text[at:at+int(length)])
		at += int(length)
	}
	return tokens
}
