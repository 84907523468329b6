// Package identifier makes the identifiers of requests and answers.
package identifier

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// size is the number of random bytes of an identifier.
const size = 16

// New makes an identifier of prefix and 32 hexadecimal digits, as OpenAI's are in
// x-request-id. Hexadecimal digits spell hardly any word that a reader, or a search of a
// log, could take for one. It is no secret, so the runtime's generator serves, which needs
// no system call.
func New(prefix string) string {
	var random [size]byte
	binary.NativeEndian.PutUint64(random[:8], rand.Uint64()) //nolint:gosec // see above
	binary.NativeEndian.PutUint64(random[8:], rand.Uint64()) //nolint:gosec // see above
	var buf [8 + 2*size]byte
	return string(hex.AppendEncode(append(buf[:0], prefix...), random[:]))
}
