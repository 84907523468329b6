package remote

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Way is how an upstream is reached. The zero value goes by the environment's proxy
// and trusts the system's authorities.
type Way struct {
	// Proxy is the address of a proxy; nil is the environment's.
	Proxy *url.URL
	// Direct goes by no proxy at all.
	Direct bool
	// TLS says whom to trust and how to be known; nil is the default.
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
		// Without it, a TLS configuration of one's own turns HTTP/2 off.
		ForceAttemptHTTP2: true,
		// One connection carries many calls: it must be found dead before they wait
		// for their own timeouts.
		HTTP2:              &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second, WriteByteTimeout: 30 * time.Second},
		DisableCompression: true,
		// Each stream that is open has both. Larger ones save no CPU that can be measured:
		// bodies larger than a buffer pass it by.
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
