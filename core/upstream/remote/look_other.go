//go:build !unix

package remote

// lookAt knows nothing of a socket here: a close is found only by reading.
func lookAt(uintptr) state { return open }
