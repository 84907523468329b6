package gateway

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
)

// The metadata by which the core says where a caller stands with its limits a minute:
// the limit, what remains of it, and the milliseconds until it is unused again.
const (
	rateRequestsKey = "genway-rate-requests"
	rateTokensKey   = "genway-rate-tokens" //nolint:gosec // the name of the metadata, not a secret
)

// writeRates names the caller's standing in the headers that the vendor of its protocol
// has for it, if it has any.
func (x *exchange) writeRates(md metadata.MD) {
	if rates := x.endpoint.protocol.Rates; rates != nil {
		x.writeRate(&rates.Requests, md[rateRequestsKey], rates.Reset)
		x.writeRate(&rates.Tokens, md[rateTokensKey], rates.Reset)
	}
}

func (x *exchange) writeRate(names *[3]string, values []string, spell func(time.Duration) string) {
	if len(values) == 0 {
		return
	}
	limit, rest, _ := strings.Cut(values[0], " ")
	remaining, reset, _ := strings.Cut(rest, " ")
	ms, err := strconv.ParseInt(reset, 10, 64)
	if err != nil {
		return
	}
	figures := [...]string{limit, remaining, spell(time.Duration(ms) * time.Millisecond)}
	h := x.w.Header()
	for i, name := range names {
		h[name] = figures[i : i+1 : i+1]
	}
}
