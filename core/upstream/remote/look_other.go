//go:build !unix

package remote

// lookAt knows nothing of a socket here: only what was read tells.
func lookAt(uintptr) state { return open }
