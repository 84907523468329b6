package gateway

import (
	"math/rand/v2"
	"net/http"
)

// newRequestID makes an identifier of 130 random bits. It identifies requests and is no
// secret, so the runtime's generator will do, which needs no system call.
func newRequestID() string {
	const digits, prefix = "abcdefghijklmnopqrstuvwxyz234567", "req_"
	var id [len(prefix) + 26]byte
	copy(id[:], prefix)
	bits, left := uint64(0), 0
	for i := len(prefix); i < len(id); i++ {
		if left < 5 {
			bits, left = rand.Uint64(), 64 //nolint:gosec // see above
		}
		id[i] = digits[bits&31]
		bits, left = bits>>5, left-5
	}
	return string(id[:])
}

// The metadata with the identifier that a caller gave its request, and that in which the
// core reports whose key a call had.
const (
	clientIDKey = "genway-client-request-id"
	keyKey      = "genway-key"
)

// mostClientID bounds that identifier, in bytes.
const mostClientID = 128

// clientIDHeaders are where callers put it: the first is OpenAI's and Codex's.
var clientIDHeaders = []string{"X-Client-Request-Id", "X-Request-Id"}

// clientID gives what the caller calls its request. It stands in logs and in a header, so
// one that is longer, or not of printable ASCII, is none.
func clientID(h http.Header) string {
	id := firstHeader(h, clientIDHeaders)
	if len(id) > mostClientID || !printable(id) {
		return ""
	}
	return id
}
