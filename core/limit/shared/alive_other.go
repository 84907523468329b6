//go:build !unix

package shared

import "net"

// alive is found out by asking.
func alive(net.Conn) bool { return true }
