package tokens

import (
	"bytes"
	"compress/flate"
	_ "embed" // the vocabulary
	"encoding/binary"
	"hash/maphash"
	"io"
	"sync"
)

// packed is o200k_base: deflated, each token by its length and its bytes, in the order
// of ranks. As Go source it would be 6 MB of each binary.
//
//go:embed o200k.deflate
var packed []byte

const (
	// tokenCount is how many tokens there are.
	tokenCount = 199_998
	// unpackedSize is that of packed when it is inflated.
	unpackedSize = 1_597_669
)

// known is the vocabulary, unpacked by the first call.
var known = sync.OnceValue(func() *vocabulary { return unpack(packed) })

// vocabulary finds the ranks of tokens. It is a table of hashes in place of a map of texts,
// which takes 8 MB instead of 3.4, and as much again to make.
type vocabulary struct {
	texts []byte   // of all tokens, one behind the other
	ends  []uint32 // where each ends
	slots []uint32 // a rank and some bits of its token's hash, at the hash's place or behind
	seed  maphash.Seed
}

const (
	rankMask = 1<<18 - 1  // of a slot: its rank
	slotMask = 1<<18 - 1  // of a hash: its place
	free     = ^uint32(0) // a slot without a token: no rank is so high
)

// rank returns a token's rank.
func (v *vocabulary) rank(text string) (uint32, bool) {
	hash := maphash.String(v.seed, text)
	bits := uint32(hash>>32) &^ rankMask
	for at := hash & slotMask; ; at = (at + 1) & slotMask {
		slot := v.slots[at]
		if slot == free {
			return 0, false
		}
		if slot&^rankMask == bits && string(v.text(slot&rankMask)) == text {
			return slot & rankMask, true
		}
	}
}

// text returns the token of a rank.
func (v *vocabulary) text(rank uint32) []byte {
	begin := uint32(0)
	if rank > 0 {
		begin = v.ends[rank-1]
	}
	return v.texts[begin:v.ends[rank]]
}

func (v *vocabulary) add(token []byte) {
	rank := uint32(len(v.ends))
	hash := maphash.Bytes(v.seed, token)
	at := hash & slotMask
	for v.slots[at] != free {
		at = (at + 1) & slotMask
	}
	v.slots[at] = uint32(hash>>32)&^rankMask | rank
	v.texts = append(v.texts, token...)
	v.ends = append(v.ends, uint32(len(v.texts)))
}

func unpack(packed []byte) *vocabulary {
	plain := make([]byte, unpackedSize)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(packed)), plain); err != nil {
		panic("tokens: the vocabulary: " + err.Error()) // it is part of the binary
	}
	v := &vocabulary{
		texts: plain[:0], // each text moves ahead, over the lengths before it
		ends:  make([]uint32, 0, tokenCount),
		slots: make([]uint32, slotMask+1),
		seed:  maphash.MakeSeed(),
	}
	for i := range v.slots {
		v.slots[i] = free
	}
	for len(plain) > 0 {
		length, size := binary.Uvarint(plain)
		end := size + int(length)
		v.add(plain[size:end])
		plain = plain[end:]
	}
	return v
}
