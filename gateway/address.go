package gateway

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// addressKey is the metadata that names the caller's address to the core, for keys that
// are good from some addresses only.
const addressKey = "genway-client"

// certificateKey is the metadata that names the certificate that the caller has shown, for
// keys that are good with some certificates only.
const certificateKey = "genway-client-certificate"

// clientAddress is where a request comes from, with or without a port: the connection's
// other end or, where that is a proxy that is trusted, the last address of
// X-Forwarded-For that is none.
func (e *Edge) clientAddress(r *http.Request) string {
	if len(e.config.TrustedProxies) == 0 {
		return r.RemoteAddr
	}
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err == nil && !e.trustsProxy(at.Addr()) || err != nil && r.RemoteAddr != "@" && r.RemoteAddr != "" {
		return r.RemoteAddr
	}
	client := r.RemoteAddr
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		client = address.String()
		if !e.trustsProxy(address) {
			break
		}
	}
	return client
}

func (e *Edge) trustsProxy(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(e.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}
