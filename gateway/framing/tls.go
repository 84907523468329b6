package framing

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/genway/genway/internal/connections"
)

// NewTLSListener gives a listener whose connections are encrypted and deliver unambiguous
// requests. It makes the handshakes, each within the timeout and beside the others. net/http
// does not see that its connections are encrypted, for it would want those of HTTP/2 bare: it
// has to speak HTTP/2 in clear text, and Conn.TLS says what its requests lack. A connection
// whose handshake failed is a *tls.Conn, for net/http to log it. A request in clear text gets
// the answer of Config.Refuse, if that is set.
func NewTLSListener(l net.Listener, config *tls.Config, timeout time.Duration, framing Config) net.Listener {
	return connections.Prepare(l, func(ctx context.Context, c net.Conn) net.Conn {
		ctx, done := context.WithTimeout(ctx, timeout)
		defer done()
		below := &opening{Conn: c}
		encrypted := tls.Server(below, config)
		err := encrypted.HandshakeContext(ctx)
		if err == nil {
			return newConn(encrypted, framing)
		}
		if _, ok := errors.AsType[tls.RecordHeaderError](err); ok && below.line != nil && framing.Refuse != nil {
			refused := newConn(c, framing)
			_ = refused.refuse(Refusal{Status: http.StatusBadRequest, Reason: NoTLS, Line: below.line})
			_ = refused.Close()
			return nil
		}
		reason := Handshake
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			reason = ClientCertificate
			// With TLS 1.3 the client may have begun its request. If the connection were reset, the
			// client would not learn what is wrong with its certificate.
			drain(c)
		}
		if below.read && framing.Ended != nil {
			framing.Ended(reason, c.RemoteAddr())
		}
		return encrypted
	})
}

// opening is a connection that should begin with a handshake. It keeps the request line of one
// that begins with a request in clear text instead.
type opening struct {
	net.Conn
	read bool
	line []byte
}

// httpVersion ends a request line of HTTP/1.
const httpVersion = " HTTP/1."

// Read reads. All that matters of a request in clear text comes with its first bytes.
func (o *opening) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	if !o.read && n > 0 {
		o.read = true
		line, _, _ := bytes.Cut(p[:n], []byte("\r\n"))
		if bytes.Contains(line, []byte(httpVersion)) {
			o.line = bytes.Clone(line[:min(len(line), maxLine)])
		}
	}
	return n, err
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
