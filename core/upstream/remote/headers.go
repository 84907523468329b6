package remote

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// SetAPIKey has calls that begin from now on use another key.
func (u *Upstream) SetAPIKey(key string) { u.useKeys(key, (*u.keys.Load())[0]) }

// useKeys has the first key used. The others are kept from callers as the first is: calls
// that began with them go on.
func (u *Upstream) useKeys(keys ...string) {
	config := u.config
	config.APIKey = keys[0]
	own := config.ownHeaders()
	u.own.Store(&own)
	u.keys.Store(&keys)
}

// ownHeaders are those of every call: ours, then the operator's.
func (c *Config) ownHeaders() http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "genway")
	if c.APIKey != "" {
		switch c.Protocol {
		case genwayv1.Protocol_PROTOCOL_MESSAGES:
			h.Set("X-Api-Key", c.APIKey)
		case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
			h.Set("X-Goog-Api-Key", c.APIKey)
		default:
			h.Set("Authorization", "Bearer "+c.APIKey)
		}
	}
	if c.Protocol == genwayv1.Protocol_PROTOCOL_MESSAGES {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	for name, value := range c.Headers {
		h.Set(name, value)
	}
	return h
}

// headers are a call's: those of every call, and where the upstream speaks the caller's
// protocol, those that came with its body, unless the operator sets them. They are not to
// be changed, as no transport may.
func (u *Upstream) headers(wire *genwayv1.WireMessage) http.Header {
	h := *u.own.Load()
	if len(wire.GetHeaders()) == 0 || !u.speaks(wire) {
		return h
	}
	for _, name := range callers[u.config.Protocol] {
		value, sent := wire.GetHeaders()[name]
		if sent && !u.operators(name) {
			h = maps.Clone(h)
			h.Set(name, value)
		}
	}
	return h
}

// operators reports whether the operator sets a header.
func (u *Upstream) operators(name string) bool {
	for set := range u.config.Headers {
		if strings.EqualFold(set, name) {
			return true
		}
	}
	return false
}

// callers are the headers that a caller's body brings along, in lower case: they turn
// on what the body asks for.
var callers = map[genwayv1.Protocol][]string{
	genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: {"openai-beta"},
	genwayv1.Protocol_PROTOCOL_RESPONSES:        {"openai-beta"},
	genwayv1.Protocol_PROTOCOL_IMAGES:           {"openai-beta"},
	genwayv1.Protocol_PROTOCOL_MESSAGES:         {"anthropic-beta", "anthropic-version"},
}

// answered are the headers of an answer that the SDKs of its protocol hand to the
// programs they serve: where the account stands with its limits, and what one cites
// when asking the vendor about a call. A name that ends in a dash stands for all that
// begin so. Whose account it is stays here (openai-organization and the like).
var answered = map[genwayv1.Protocol][]string{
	genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: {"X-Ratelimit-", "Openai-Processing-Ms", "Openai-Version"},
	genwayv1.Protocol_PROTOCOL_RESPONSES:        {"X-Ratelimit-", "Openai-Processing-Ms", "Openai-Version"},
	genwayv1.Protocol_PROTOCOL_IMAGES:           {"X-Ratelimit-", "Openai-Processing-Ms", "Openai-Version"},
	genwayv1.Protocol_PROTOCOL_MESSAGES:         {"Anthropic-Ratelimit-"},
}

// note leaves the headers of an answer that a caller of the upstream's protocol may
// read, and for every caller the upstream's name of the call.
func (u *Upstream) note(ctx context.Context, h http.Header, wire *genwayv1.WireMessage) {
	var found map[string]string
	leave := func(name, value string) {
		if found == nil {
			found = map[string]string{}
		}
		found[name] = value
	}
	if id := requestID(h); printable(id) {
		leave("x-genway-upstream-request-id", id)
	}
	if u.speaks(wire) {
		allowed := answered[u.config.Protocol]
		for name, values := range h {
			if len(found) < maxAnswered && mayRead(allowed, name) && printable(values[0]) {
				leave(strings.ToLower(name), values[0])
			}
		}
	}
	upstream.NoteOf(ctx).Headers = found
}

// maxAnswered bounds how many there are: every proxy on the way bounds headers.
const maxAnswered = 32

func mayRead(allowed []string, name string) bool {
	for _, a := range allowed {
		if name == a || strings.HasSuffix(a, "-") && strings.HasPrefix(name, a) {
			return true
		}
	}
	return false
}

// printable reports whether a value is short and plain enough to be passed on.
func printable(value string) bool {
	if value == "" || len(value) > 128 {
		return false
	}
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			return false
		}
	}
	return true
}
