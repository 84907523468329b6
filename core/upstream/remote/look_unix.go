//go:build unix

package remote

import (
	"errors"
	"syscall"
)

// lookAt finds out whether the other side of a socket that no call uses has closed it,
// without taking anything from it. Bytes that wait mean so as well, since nothing was
// asked: they say why the connection is closed (a 408, an alert of TLS).
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
