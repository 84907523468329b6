package remote

import (
	"maps"
	"net/http"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// Credential authorises calls. The implementations, which renew themselves, are in package
// core/upstream/credential. It is safe for concurrent use.
type Credential interface {
	// Name is the name of the credential's kind in the configuration.
	Name() string
	// Authorize sets the headers that authenticate the request. refused is called with an answer of
	// status 401 or 403, and reports whether the request is to be authorised and sent once more. The
	// error is that of the request's context, or the reason why there is no valid credential.
	Authorize(req *http.Request, body []byte) (refused func(*http.Response) bool, err error)
	// Secrets are the values that are redacted from answers and errors.
	Secrets() []string
}

// reasonCredential is the reason of a call that was not made because there was no valid credential.
const reasonCredential = "UPSTREAM_CREDENTIAL_UNAVAILABLE" //nolint:gosec // the name of a reason, not a secret

// send sends the request of a call. If the upstream refuses its credential, the request is sent once
// more with a renewed one: an upstream does no work for a request that it answers with 401.
func (u *Upstream) send(a *answer, op protocol.Operation, model string, body []byte, wire *genwayv1.WireMessage) (*http.Response, error) {
	if u.config.Credential == nil {
		return u.roundTrip(a, u.request(a.ctx, op, model, body, wire))
	}
	record := call.Of(a.ctx)
	for again := false; ; again = true {
		req := u.request(a.ctx, op, model, body, wire)
		refused, err := u.authorize(req, body)
		if err != nil {
			record.Calls-- // the call was counted and is not made
			return nil, err
		}
		resp, err := u.roundTrip(a, req)
		if err != nil || again || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden || !refused(resp) {
			return resp, err
		}
		_ = resp.Body.Close()
		record.Calls++
	}
}

// authorize has the credential set its headers, on a copy of the shared headers.
func (u *Upstream) authorize(req *http.Request, body []byte) (refused func(*http.Response) bool, err error) {
	if u.config.Credential == nil {
		return nil, nil
	}
	req.Header = maps.Clone(req.Header)
	refused, err = u.config.Credential.Authorize(req, body) //nolint:bodyclose // the caller closes it
	switch {
	case err == nil:
		return refused, nil
	case req.Context().Err() != nil:
		return nil, err // the call has ended; its context has the reason
	}
	return nil, fault.Wrap(err, fault.Unavailable, reasonCredential, "the gateway has no valid credential for the upstream of this model (%s)", u.config.Credential.Name())
}
