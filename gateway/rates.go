package gateway

import (
	"strconv"
	"strings"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/metadata"
)

// The metadata by which the core says where a caller stands with its limits a minute:
// the limit, what remains of it, and the milliseconds until it is unused again.
const (
	rateRequestsKey = "genway-rate-requests"
	rateTokensKey   = "genway-rate-tokens" //nolint:gosec // the name of the metadata, not a secret
)

// tellRates names the caller's standing in the headers that the vendor of its protocol
// has for it. generateContent has none.
func (x *exchange) tellRates(md metadata.MD) {
	x.tellRate("requests", md.Get(rateRequestsKey))
	x.tellRate("tokens", md.Get(rateTokensKey))
}

func (x *exchange) tellRate(what string, values []string) {
	if len(values) == 0 {
		return
	}
	limit, rest, _ := strings.Cut(values[0], " ")
	remaining, reset, _ := strings.Cut(rest, " ")
	ms, err := strconv.ParseInt(reset, 10, 64)
	if err != nil {
		return
	}
	h := x.w.Header()
	switch x.endpoint.protocol { //nolint:exhaustive // the protocol that has no such headers
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_RESPONSES, genwayv1.Protocol_PROTOCOL_IMAGES:
		h.Set("X-Ratelimit-Limit-"+what, limit)
		h.Set("X-Ratelimit-Remaining-"+what, remaining)
		h.Set("X-Ratelimit-Reset-"+what, (time.Duration(ms) * time.Millisecond).String())
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		h.Set("Anthropic-Ratelimit-"+what+"-Limit", limit)
		h.Set("Anthropic-Ratelimit-"+what+"-Remaining", remaining)
		// In whole seconds, and never early.
		at := time.Now().Add(time.Duration(ms)*time.Millisecond + time.Second - 1)
		h.Set("Anthropic-Ratelimit-"+what+"-Reset", at.UTC().Format(time.RFC3339))
	}
}
