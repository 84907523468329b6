package remote

import "net/http"

// Dry returns an adapter that encodes requests as this one does, sends them by the transport calls, and
// sends no credentials with them.
func (u *Upstream) Dry(calls http.RoundTripper) (*Upstream, error) {
	config := u.config
	config.HTTP, config.APIKey, config.Credential, config.Headers, config.Memory, config.Trace = calls, "", nil, nil, nil, false
	return New(config)
}
