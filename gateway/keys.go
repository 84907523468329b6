package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// takeKey takes the caller's key from where its protocol puts it, and spells it as the
// core wants to see it: Bearer and the key. No key is in the URL after this (case K1), and
// no header of the caller's gets past the endpoint.
func (e *Edge) takeKey(protocol genwayv1.Protocol, r *http.Request) (string, error) {
	var key string
	switch protocol {
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		if key = firstHeader(r.Header, e.headers.MessagesKey); key == "" {
			key = bearerKey(r.Header)
		}
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		if key = firstHeader(r.Header, e.headers.GenerateContentKey); key == "" && r.URL.RawQuery != "" {
			key = r.URL.Query().Get("key")
		}
	default:
		key = bearerKey(r.Header)
	}
	dropQueryKey(r)
	if key == "" {
		return "", fault.New(fault.Unauthenticated, fault.ReasonMissingKey, "no API key was sent; put it into %s", e.keyPlace(protocol))
	}
	if !printable(key) {
		return "", fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key")
	}
	return "Bearer " + key, nil
}

// keyPlace is where a protocol has its key.
func (e *Edge) keyPlace(protocol genwayv1.Protocol) string {
	switch protocol {
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		return "the " + e.config.Headers.MessagesKey[0] + " header"
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		return "the " + e.config.Headers.GenerateContentKey[0] + " header or the query parameter key"
	default:
		return "the Authorization header, as Bearer"
	}
}

func bearerKey(h http.Header) string {
	scheme, key, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

// firstHeader gives the first of the headers that has a value. The names are canonical.
func firstHeader(h http.Header, names []string) string {
	for _, name := range names {
		if values := h[name]; len(values) > 0 {
			if v := strings.TrimSpace(values[0]); v != "" {
				return v
			}
		}
	}
	return ""
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
