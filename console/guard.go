package console

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// policy is the Content-Security-Policy: only what the console itself serves, no inline script
// or style, and no string that a script could make HTML of.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// maxForm bounds the body of a form, in bytes.
const maxForm = 1 << 20

// guarded sets the headers of every answer, refuses hosts that are not the console's, and bounds
// bodies.
func (c *Console) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		h.Set("Cache-Control", "no-store")
		if !c.hosts(r.Host) {
			http.Error(w, "This host name is none of the console's; see --console-host.", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}

// hosts reports whether a Host header names the console. An address cannot be pointed elsewhere,
// as a name can.
func (c *Console) hosts(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"), "."))
	if provider := c.provider(); provider != nil {
		if back, err := url.Parse(provider.RedirectURL()); err == nil && strings.EqualFold(back.Hostname(), name) {
			return true
		}
	}
	if name == "localhost" || slices.ContainsFunc(c.config.Hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// addressOf returns where a request comes from; the zero Addr for a unix socket.
func addressOf(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}
