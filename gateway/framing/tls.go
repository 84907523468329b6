package framing

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/genway/genway/internal/connections"
)

// NewTLSListener gives a listener whose connections are encrypted and deliver unambiguous
// requests. It makes the handshakes, each within the timeout and beside the others. net/http
// does not see that its connections are encrypted, for it would want those of HTTP/2 bare: it
// has to speak HTTP/2 in clear text, and Conn.TLS says what its requests lack. A connection
// whose handshake failed is a *tls.Conn, for net/http to say so.
func NewTLSListener(l net.Listener, config *tls.Config, timeout time.Duration, framing Config) net.Listener {
	return connections.Prepare(l, func(ctx context.Context, c net.Conn) net.Conn {
		ctx, done := context.WithTimeout(ctx, timeout)
		defer done()
		encrypted := tls.Server(c, config)
		if encrypted.HandshakeContext(ctx) != nil {
			return encrypted
		}
		return newConn(encrypted, framing)
	})
}

// TLS says how the connection is encrypted; nil is not at all.
func (c *Conn) TLS() *tls.ConnectionState {
	below, ok := c.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	state := below.ConnectionState()
	return &state
}
