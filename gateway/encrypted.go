package gateway

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"github.com/genway/genway/gateway/framing"
)

// encrypted is a handler of requests over TLS, of which net/http does not know: see
// framing.NewTLSListener.
type encrypted struct{ http.Handler }

// ServeHTTP answers a request that says how it is encrypted.
func (e encrypted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.TLS, _ = r.Context().Value(tlsKey{}).(*tls.ConnectionState)
	e.Handler.ServeHTTP(w, r)
}

type tlsKey struct{}

// withTLS gives the requests of a connection the connection, and how it is encrypted.
func withTLS(ctx context.Context, c net.Conn) context.Context {
	ctx = withConn(ctx, c)
	if conn, ok := c.(*framing.Conn); ok {
		return context.WithValue(ctx, tlsKey{}, conn.TLS())
	}
	return ctx
}
