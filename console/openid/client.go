package openid

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

const (
	// callTimeout bounds each call of the identity provider, its body included.
	callTimeout = 10 * time.Second
	// maxAnswer bounds an answer of the identity provider, in bytes.
	maxAnswer = 1 << 20
)

// newClient makes the client that calls the identity provider. It follows no redirect, which could
// carry the client's secret elsewhere, and reads at most maxAnswer bytes of an answer.
func newClient(base http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: bounded{base}, Timeout: callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded bounds the bodies of answers, and calls nothing in cleartext but this machine.
type bounded struct{ base http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !Protected(r.URL) {
		return nil, fmt.Errorf("%s://%s is neither https nor on this machine", r.URL.Scheme, r.URL.Host)
	}
	resp, err := b.base.RoundTrip(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // http.Client names the call
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

// Protected reports whether what is sent to a URL cannot be read on the way: https, or http to
// this machine.
func Protected(u *url.URL) bool {
	if u == nil || u.Host == "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

// isLoopback reports whether a host is this machine. A name that begins as an address does is
// anybody's.
func isLoopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}
