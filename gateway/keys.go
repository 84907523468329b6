package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// moveKey takes the caller's key from where its protocol puts it, sets it as
// Authorization: Bearer, which is where the core looks, and deletes every other
// carrier: no key is in an URL or a foreign header after this (case K1).
func (e *Edge) moveKey(protocol genwayv1.Protocol, r *http.Request) error {
	h := e.config.Headers
	bearer, isBearer := bearerKey(r.Header.Get("Authorization"))
	var key, place string
	switch protocol {
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		key, place = firstHeader(r.Header, h.MessagesKey), "the "+h.MessagesKey[0]+" header"
		if key == "" && isBearer {
			key = bearer
		}
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		key, place = firstHeader(r.Header, h.GenerateContentKey), "the "+h.GenerateContentKey[0]+" header or the query parameter key"
		if key == "" {
			key = r.URL.Query().Get("key")
		}
	default:
		key, place = bearer, "the Authorization header, as Bearer"
	}
	for _, name := range append(append([]string{"Authorization"}, h.MessagesKey...), h.GenerateContentKey...) {
		r.Header.Del(name)
	}
	dropQueryKey(r)
	if key == "" {
		return fault.New(fault.Unauthenticated, fault.ReasonMissingKey, "no API key was sent; put it into %s", place)
	}
	if !printable(key) {
		return fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key")
	}
	r.Header.Set("Authorization", "Bearer "+key)
	return nil
}

func bearerKey(header string) (string, bool) {
	scheme, key, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(key), true
}

func firstHeader(h http.Header, names []string) string {
	for _, name := range names {
		if v := strings.TrimSpace(h.Get(name)); v != "" {
			return v
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
	h := e.config.Headers
	switch {
	case firstHeader(r.Header, h.GenerateContentKey) != "" || r.URL.Query().Has("key"):
		return genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	case firstHeader(r.Header, h.Version) != "" || firstHeader(r.Header, h.MessagesKey) != "":
		return genwayv1.Protocol_PROTOCOL_MESSAGES
	}
	return genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
}

// betaHeaders gives the allow-listed protocol headers of a request.
func (e *Edge) betaHeaders(h http.Header) map[string]string {
	var found map[string]string
	for _, name := range e.config.Headers.Beta {
		if values := h.Values(name); len(values) > 0 {
			if found == nil {
				found = map[string]string{}
			}
			found[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	return found
}
