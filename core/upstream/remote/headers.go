package remote

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// setHeaders sets a request's headers: ours, then those that came with the caller's
// body, if the upstream speaks its protocol, then the operator's.
func (u *Upstream) setHeaders(h http.Header, wire *genwayv1.WireMessage) {
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "genway")
	if key := u.config.APIKey; key != "" {
		switch u.config.Protocol {
		case genwayv1.Protocol_PROTOCOL_MESSAGES:
			h.Set("X-Api-Key", key)
		case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
			h.Set("X-Goog-Api-Key", key)
		default:
			h.Set("Authorization", "Bearer "+key)
		}
	}
	if u.config.Protocol == genwayv1.Protocol_PROTOCOL_MESSAGES {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	if u.speaks(wire) {
		for name, value := range wire.GetHeaders() {
			if slices.Contains(callers[u.config.Protocol], name) {
				h.Set(name, value)
			}
		}
	}
	for name, value := range u.config.Headers {
		h.Set(name, value)
	}
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
	found := map[string]string{}
	if id := requestID(h); printable(id) {
		found["x-genway-upstream-request-id"] = id
	}
	if u.speaks(wire) {
		for name, values := range h {
			if len(found) < maxAnswered && mayRead(answered[u.config.Protocol], name) && printable(values[0]) {
				found[strings.ToLower(name)] = values[0]
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
