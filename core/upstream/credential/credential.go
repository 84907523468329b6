package credential

import (
	"fmt"
	"net/http"
)

// Credential authorises the requests to an upstream. It is safe for concurrent use.
type Credential interface {
	// Name is the credential in the words of the configuration.
	Name() string
	// Authorize sets the headers that prove who is calling on a request, whose headers are the
	// callee's to change and whose body is given. It waits for the issuer, until the request's
	// context ends, only while there is no valid credential. The error is an *Error, or the
	// context's.
	//
	// refused is called with an answer of status 401 or 403 to the request. It reports whether
	// the request is worth sending again, authorised again, because the answer is about the
	// credential and there may be another one.
	Authorize(req *http.Request, body []byte) (refused func(*http.Response) bool, err error)
	// Secrets are the values that must not be repeated to anyone: of the credential in use,
	// and of the one before it.
	Secrets() []string
	// Close ends a fetch that is in flight and waits for it. Nothing may be authorised afterwards.
	Close() error
}

// Error says that an upstream's credential is not available.
type Error struct {
	// Name is the credential in the words of the configuration: "auth.entra of upstream east".
	Name string
	// Cause is why, without secrets. It is only for the operator.
	Cause error
}

// Error returns both.
func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Name, e.Cause) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// bearer is a token in a header, from a cache of tokens.
type bearer struct {
	header, prefix string
	tokens         *cache[string]
}

// newBearer makes the credential of tokens in the header Authorization, by RFC 6750.
func newBearer(name string, fetch fetcher[string]) *bearer {
	b := &bearer{header: "Authorization", prefix: "Bearer "}
	b.tokens = newCache(name, fetch, func(token string) []string { return []string{token} })
	return b
}

// Authorize sets the token. A status 401 means that the token is refused, whatever its
// expiry: it was revoked, or the issuer's clock is another. A 403 is about what the token's
// owner may do.
func (b *bearer) Authorize(req *http.Request, _ []byte) (func(*http.Response) bool, error) {
	held, err := b.tokens.get(req.Context())
	if err != nil {
		return nil, err
	}
	req.Header.Set(b.header, b.prefix+held.value)
	return func(resp *http.Response) bool {
		return resp.StatusCode == http.StatusUnauthorized && b.tokens.discard(held)
	}, nil
}

// Name is the credential's.
func (b *bearer) Name() string { return b.tokens.name }

// Secrets are the tokens.
func (b *bearer) Secrets() []string { return b.tokens.known() }

// Close ends fetching.
func (b *bearer) Close() error { return b.tokens.close() }
