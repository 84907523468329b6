//go:build unix

package remote

import (
	"errors"
	"syscall"
)

// lookAt finds out whether the other side has closed a socket that no call uses, without reading from
// it. Bytes that can be read count as closed too: since no request was sent, they are the reason for
// closing (a 408, a TLS alert).
func lookAt(fd uintptr) state {
	var first [1]byte
	for {
		_, _, err := syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EWOULDBLOCK):
			return open
		default:
			return closed
		}
	}
}
