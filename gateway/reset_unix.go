//go:build unix

package gateway

import "syscall"

// waitForReset waits until the peer has reset the connection, and then returns nil. It returns an error
// when the connection is closed on this side, or its read deadline is over.
func waitForReset(socket syscall.RawConn) error {
	return socket.Read(func(fd uintptr) bool {
		reset, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		return err != nil || reset != 0
	})
}
