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

// rateNames are the headers of one limit: itself, what remains of it, and its reset.
type rateNames [3]string

var (
	openaiRequests    = rateNames{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"}
	openaiTokens      = rateNames{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"}
	anthropicRequests = rateNames{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"}
	anthropicTokens   = rateNames{"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"}
)

// tellRates names the caller's standing in the headers that the vendor of its protocol
// has for it. generateContent has none.
func (x *exchange) tellRates(md metadata.MD) {
	switch x.endpoint.protocol { //nolint:exhaustive // the protocol that has no such headers
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_RESPONSES, genwayv1.Protocol_PROTOCOL_IMAGES:
		x.tellRate(&openaiRequests, md[rateRequestsKey], lasting)
		x.tellRate(&openaiTokens, md[rateTokensKey], lasting)
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		x.tellRate(&anthropicRequests, md[rateRequestsKey], ending)
		x.tellRate(&anthropicTokens, md[rateTokensKey], ending)
	}
}

func (x *exchange) tellRate(names *rateNames, values []string, spell func(time.Duration) string) {
	if len(values) == 0 {
		return
	}
	limit, rest, _ := strings.Cut(values[0], " ")
	remaining, reset, _ := strings.Cut(rest, " ")
	ms, err := strconv.ParseInt(reset, 10, 64)
	if err != nil {
		return
	}
	told := [...]string{limit, remaining, spell(time.Duration(ms) * time.Millisecond)}
	h := x.w.Header()
	for i, name := range names {
		h[name] = told[i : i+1 : i+1]
	}
}

func lasting(d time.Duration) string { return d.String() }

// ending is when it will be, in whole seconds and never early.
func ending(d time.Duration) string {
	return time.Now().Add(d + time.Second - 1).UTC().Format(time.RFC3339)
}
