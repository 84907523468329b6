package remote

import "net/http"

// Dry gives an adapter that makes of a request what this one does, but gives its calls to
// another transport, and no credentials with them.
func (u *Upstream) Dry(calls http.RoundTripper) (*Upstream, error) {
	config := u.config
	config.HTTP, config.APIKey, config.Credential, config.Headers, config.Memory, config.Trace = calls, "", nil, nil, nil, false
	return New(config)
}
