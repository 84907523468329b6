package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/protocol"
)

// takeKey reads the caller's key from the place that its protocol has for it, and writes it in
// the form that the core takes: Bearer and the key. It notes the place. Afterwards the URL has
// no key (case K1), and no header of the caller passes the endpoint.
func (e *Edge) takeKey(x *exchange, r *http.Request) error {
	own := x.endpoint.protocol.Key
	var key string
	var asked []string // the keys of the query
	if x.keyHeader, key = firstOf(r.Header, x.endpoint.keys.read); key == "" && own.Query != "" && r.URL.RawQuery != "" {
		if asked = r.URL.Query()[own.Query]; len(asked) > 0 {
			key = asked[0]
		}
	}
	if key == "" && own.Bearer {
		x.keyHeader, key = authorization, bearerKey(r.Header)
	}
	e.dropQueryKey(r)
	if len(r.Header[x.keyHeader]) > 1 {
		return fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "the header %s is there %d times; send one API key", strings.ToLower(x.keyHeader), len(r.Header[x.keyHeader]))
	}
	if len(asked) > 1 {
		return fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "the query parameter %s is there %d times; send one API key", own.Query, len(asked))
	}
	if key == "" {
		return fault.New(fault.Unauthenticated, fault.ReasonMissingKey, "no API key was sent; put it into %s%s", x.endpoint.keyPlaces(), e.elsewhere(x.endpoint, r.Header))
	}
	if !printable(key) {
		return x.invalidKey(fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key"))
	}
	x.authorization = "Bearer " + key
	return nil
}

// authorization is the header that has a key behind the word Bearer.
const authorization = "Authorization"

// invalidKey is the fault of a key that is not valid. It names the place of the key. A
// revoked or expired key has the same text.
func (x *exchange) invalidKey(f *fault.Error) *fault.Error {
	named, place := *f, "the header "+strings.ToLower(x.keyHeader)
	switch x.keyHeader {
	case authorization:
		place += " (Bearer)"
	case "":
		place = "the query parameter " + x.endpoint.protocol.Key.Query
	}
	named.Message = "invalid API key in " + place + ": a key of this server begins with gwk_ and has 40 characters"
	return &named
}

// keyPlaces names the places of the protocol's key.
func (e *endpoint) keyPlaces() string {
	own, bearer := e.protocol.Key, "the header authorization, as Bearer" //nolint:gosec // where a key stands, not a key
	if len(e.keys.shown) == 0 {
		return bearer
	}
	places := "the header " + strings.Join(e.keys.shown, " or ")
	if own.Bearer {
		places += ", or authorization, as Bearer"
	}
	if own.Query != "" {
		places += ", or the query parameter " + own.Query
	}
	return places
}

// elsewhere names a header or parameter in which a caller without a key may have sent it by
// mistake.
func (e *Edge) elsewhere(asked *endpoint, h http.Header) string {
	for _, other := range e.endpoints {
		if name, _ := firstOf(h, other.keys.read); name != "" {
			return "; " + strings.ToLower(name) + " is not read here"
		}
	}
	switch {
	case h.Get(authorization) == "":
		return ""
	case !asked.protocol.Key.Bearer:
		return "; authorization is not read here"
	}
	return "; the header authorization has no Bearer ahead of the key"
}

func bearerKey(h http.Header) string {
	scheme, key, ok := strings.Cut(h.Get(authorization), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return trimSpaces(key)
}

// trimSpaces removes the white space that HTTP allows around a value (RFC 9110, 5.6.3) and no
// other: a no-break space is part of the key, which then is not valid.
func trimSpaces(value string) string { return strings.Trim(value, " \t") }

// firstHeader returns the first of the headers that has a value. The names are canonical.
func firstHeader(h http.Header, names []string) string {
	_, value := firstOf(h, names)
	return value
}

// firstOf returns the first of the headers that has a value, by name, and that.
func firstOf(h http.Header, names []string) (name, value string) {
	for _, name := range names {
		if values := h[name]; len(values) > 0 {
			if v := trimSpaces(values[0]); v != "" {
				return name, v
			}
		}
	}
	return "", ""
}

// printable reports whether a key can travel as metadata at all.
func printable(key string) bool {
	for i := range len(key) {
		if key[i] < 0x21 || key[i] > 0x7e {
			return false
		}
	}
	return true
}

// dropQueryKey removes from the query the parameters in which any protocol has its key.
func (e *Edge) dropQueryKey(r *http.Request) {
	if r.URL.RawQuery == "" {
		return
	}
	q := r.URL.Query()
	dropped := false
	for _, endpoint := range e.endpoints {
		if name := endpoint.protocol.Key.Query; name != "" && q.Has(name) {
			q.Del(name)
			dropped = true
		}
	}
	if !dropped {
		return
	}
	r.URL.RawQuery = q.Encode()
	r.RequestURI = (&url.URL{Path: r.URL.Path, RawQuery: r.URL.RawQuery}).String()
}

// callersEndpoint returns the endpoint for a path that several protocols share, by the header or
// parameter that the caller's key or version comes in, or that asks for a protocol's list. It is the endpoint of the first protocol
// of the table for a caller that has none of them, or has its key in Authorization.
func (e *Edge) callersEndpoint(r *http.Request) *endpoint {
	query := url.Values(nil)
	if r.URL.RawQuery != "" {
		query = r.URL.Query()
	}
	for _, endpoint := range slices.Backward(e.endpoints) {
		own := endpoint.protocol
		if firstHeader(r.Header, endpoint.keys.read) != "" || firstHeader(r.Header, endpoint.versions.read) != "" ||
			own.Key.Query != "" && query.Has(own.Key.Query) || own.ListQuery != "" && query.Has(own.ListQuery) {
			return endpoint
		}
	}
	return e.endpoints[0]
}

// isKey reports whether some protocol has its key in a header.
func (e *Edge) isKey(name string) bool {
	return slices.ContainsFunc(e.endpoints, func(other *endpoint) bool { return slices.Contains(other.keys.read, name) })
}

// passedHeaders returns the headers of a request that pass through with its body. The version of
// its protocol is the one that was checked, whichever header it came in.
func (e *endpoint) passedHeaders(h http.Header) map[string]string {
	var found map[string]string
	for name, values := range h {
		if !protocol.NamesHeader(e.passed, name) || e.edge.isKey(name) {
			continue
		}
		value := strings.Join(values, ",")
		if !utf8.ValidString(value) {
			continue // the contract has no other texts, and no vendor's header has any
		}
		if found == nil {
			found = map[string]string{}
		}
		found[strings.ToLower(name)] = value
	}
	if _, version := firstOf(h, e.versions.read); version != "" {
		if found == nil {
			found = map[string]string{}
		}
		found[e.protocol.Version.Headers[0]] = version
	}
	return found
}
