package gateway

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/protocol"
	"google.golang.org/grpc/metadata"
)

// The metadata by which the core says where a caller stands with its limits a minute:
// the limit, what remains of it, and the milliseconds until it is unused again.
const (
	rateRequestsKey = "genway-rate-requests"
	rateTokensKey   = "genway-rate-tokens" //nolint:gosec // the name of the metadata, not a secret
	// rateBudgetKey has the fullest budget: its amount, what is spent of it, the period, the
	// seconds since 1970 of its reset, and the scope.
	rateBudgetKey = "genway-rate-budget"
)

// writeRates names the caller's standing in the headers that the vendor of its protocol
// has for it, if it has any.
func (x *exchange) writeRates(md metadata.MD) {
	if rates := x.endpoint.protocol.Rates; rates != nil {
		x.writeRate(&rates.Requests, md[rateRequestsKey], rates.Reset)
		x.writeRate(&rates.Tokens, md[rateTokensKey], rates.Reset)
		if len(md[rateBudgetKey]) > 0 && rates.Budget != nil {
			x.writeBudget(md[rateBudgetKey][0])
		}
	}
}

// writeBudget names where the caller stands with its fullest budget.
func (x *exchange) writeBudget(text string) {
	var limit, spent, reset int64
	var b protocol.Budget
	var scope string
	if n, err := fmt.Sscanf(text, "%d %d %s %d %s", &limit, &spent, &b.Period, &reset, &scope); err != nil || n != 5 || limit <= 0 {
		return
	}
	b.Spent, b.Shared, b.Reset = float64(spent)/float64(limit), scope != ownScope, time.Unix(reset, 0)
	for name, value := range x.endpoint.protocol.Rates.Budget(b) {
		x.w.Header().Set(name, value)
	}
}

// ownScope is the scope of limits that only the caller's key spends.
const ownScope = "key"

// writeSpent names the budget of which not enough is left for the request, in the place of what
// writeBudget has named.
func (x *exchange) writeSpent(f *fault.Error) {
	rates, quota := x.endpoint.protocol.Rates, f.Quota
	if rates == nil || rates.Budget == nil || f.Kind != fault.QuotaExhausted || quota.GetResetTime() == nil {
		return
	}
	h := x.w.Header()
	for name := range rates.Budget(protocol.Budget{}) {
		h.Del(name)
	}
	for name, value := range rates.Budget(protocol.Budget{Refused: true, Spent: 1, Period: quota.GetPeriod(), Shared: quota.GetScope() != ownScope, Reset: quota.GetResetTime().AsTime()}) {
		h.Set(name, value)
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
