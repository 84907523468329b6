package remote

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Way says how an upstream is reached. The zero value uses the environment's proxy and trusts the
// system's certificate authorities.
type Way struct {
	// Proxy is the address of a proxy; nil is the environment's.
	Proxy *url.URL
	// Direct uses no proxy.
	Direct bool
	// TLS has the trusted authorities and the client certificate; nil is the default.
	TLS *tls.Config
}

// NewTransport gives a transport made for upstreams: many idle connections to few
// hosts, HTTP/2 where the upstream has it, every phase bounded, no compression asked
// for. How long an answer's headers may take is Config.FirstByte.
func NewTransport(way Way) *http.Transport {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialed(&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}),
		TLSClientConfig:       way.TLS,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          1024,
		MaxIdleConnsPerHost:   512,
		// Otherwise a custom TLS configuration turns HTTP/2 off.
		ForceAttemptHTTP2: true,
		// One connection carries many calls. Pings find a broken one before the calls on it reach
		// their own timeouts.
		HTTP2:              &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second, WriteByteTimeout: 30 * time.Second},
		DisableCompression: true,
		// Header fields are in no budget of memory. net/http takes 10 MB of them by default.
		MaxResponseHeaderBytes: 256 << 10,
		// Each open stream has both buffers. Larger ones save no measurable CPU time, since bodies larger
		// than a buffer bypass it.
		ReadBufferSize:  8 << 10,
		WriteBufferSize: 4 << 10,
	}
	switch {
	case way.Direct:
		t.Proxy = nil
	case way.Proxy != nil:
		t.Proxy = http.ProxyURL(way.Proxy)
	}
	return t
}
