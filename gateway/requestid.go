package gateway

import "math/rand/v2"

// newRequestID makes an identifier of 130 random bits. It tells requests apart and is no
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
