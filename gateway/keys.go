package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// takeKey takes the caller's key from where its protocol puts it, and spells it as the
// core wants to see it: Bearer and the key. It notes where that was. No key is in the URL
// after this (case K1), and no header of the caller's gets past the endpoint.
func (e *Edge) takeKey(x *exchange, r *http.Request) error {
	var key string
	protocol := x.endpoint.protocol
	switch protocol { //nolint:exhaustive // all others have it in Authorization alone
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		x.keyHeader, key = firstOf(r.Header, e.headers.MessagesKey)
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		if x.keyHeader, key = firstOf(r.Header, e.headers.GenerateContentKey); key == "" && r.URL.RawQuery != "" {
			key = r.URL.Query().Get("key")
		}
	}
	if key == "" && protocol != genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT {
		x.keyHeader, key = authorization, bearerKey(r.Header)
	}
	dropQueryKey(r)
	if len(r.Header[x.keyHeader]) > 1 {
		return fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "the header %s is there %d times; send one API key", strings.ToLower(x.keyHeader), len(r.Header[x.keyHeader]))
	}
	if key == "" {
		return fault.New(fault.Unauthenticated, fault.ReasonMissingKey, "no API key was sent; put it into %s%s", e.keyPlaces(protocol), e.elsewhere(protocol, r.Header))
	}
	if !printable(key) {
		return x.invalidKey(fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key"))
	}
	x.authorization = "Bearer " + key
	return nil
}

// authorization is the header with a key behind the word Bearer.
const authorization = "Authorization"

// invalidKey says of a key that is none where it was, and what to compare it with. One
// that is revoked or has expired is told of in the same words.
func (x *exchange) invalidKey(f *fault.Error) *fault.Error {
	told, place := *f, "the header "+strings.ToLower(x.keyHeader)
	switch x.keyHeader {
	case authorization:
		place += " (Bearer)"
	case "":
		place = "the query parameter key"
	}
	told.Message = "invalid API key in " + place + ": a key of this server begins with gwk_ and has 40 characters"
	return &told
}

// keyPlaces are where a protocol has its key.
func (e *Edge) keyPlaces(protocol genwayv1.Protocol) string {
	switch protocol {
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		return "the header " + strings.Join(e.config.Headers.MessagesKey, " or ") + ", or authorization, as Bearer"
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		return "the header " + strings.Join(e.config.Headers.GenerateContentKey, " or ") + ", or the query parameter key"
	default:
		return "the header authorization, as Bearer"
	}
}

// elsewhere names what a caller without a key has sent that could have been meant for one.
func (e *Edge) elsewhere(protocol genwayv1.Protocol, h http.Header) string {
	for _, names := range [][]string{e.headers.MessagesKey, e.headers.GenerateContentKey} {
		if name, _ := firstOf(h, names); name != "" {
			return "; " + strings.ToLower(name) + " is not read here"
		}
	}
	switch {
	case h.Get(authorization) == "":
		return ""
	case protocol == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
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

// trimSpaces takes away the white space that HTTP allows around a value (RFC 9110, 5.6.3),
// and no other: a no-break space is part of a key, and of none of ours.
func trimSpaces(value string) string { return strings.Trim(value, " \t") }

// firstHeader gives the first of the headers that has a value. The names are canonical.
func firstHeader(h http.Header, names []string) string {
	_, value := firstOf(h, names)
	return value
}

// firstOf gives the first of the headers that has a value, by name, and that.
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

func dropQueryKey(r *http.Request) {
	if r.URL.RawQuery == "" {
		return
	}
	q := r.URL.Query()
	if !q.Has("key") {
		return
	}
	q.Del("key")
	r.URL.RawQuery = q.Encode()
	r.RequestURI = (&url.URL{Path: r.URL.Path, RawQuery: r.URL.RawQuery}).String()
}

// protocolOf tells which of the protocols that share a path a caller speaks, by
// the header its key comes in; else the chat protocol's.
func (e *Edge) protocolOf(r *http.Request) genwayv1.Protocol {
	switch {
	case firstHeader(r.Header, e.headers.GenerateContentKey) != "" || r.URL.Query().Has("key"):
		return genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	case firstHeader(r.Header, e.headers.Version) != "" || firstHeader(r.Header, e.headers.MessagesKey) != "":
		return genwayv1.Protocol_PROTOCOL_MESSAGES
	}
	return genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
}

// betaHeaders gives the allow-listed protocol headers of a request.
func (e *Edge) betaHeaders(h http.Header) map[string]string {
	var found map[string]string
	for _, name := range e.headers.Beta {
		if values := h[name]; len(values) > 0 {
			if found == nil {
				found = map[string]string{}
			}
			found[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	return found
}
