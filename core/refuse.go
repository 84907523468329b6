package core

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Reasons of requests that are not admitted; limit.Kinds has the reasons of the other limits.
const (
	ReasonModelNotAllowed   = "MODEL_NOT_ALLOWED"
	ReasonAddressNotAllowed = "ADDRESS_NOT_ALLOWED"
	ReasonNoCertificate     = "CERTIFICATE_REQUIRED"
	ReasonCertificate       = "CERTIFICATE_NOT_ALLOWED"
	ReasonModelUnpriced     = "MODEL_UNPRICED"
	ReasonTooManyTokens     = "TOO_MANY_TOKENS"
	ReasonBudget            = "BUDGET_EXHAUSTED"
	ReasonBudgetHeld        = "BUDGET_HELD"
	ReasonLimitsUnavailable = "LIMITS_UNAVAILABLE"
)

// subjects are the words for what a limit applies to.
var subjects = map[limit.Scope]string{limit.Key: "this key", limit.Owner: "the owner of this key", limit.Model: "this model"}

// refusal is the error for a request that a limit does not admit. Some clients read the wait
// from "Please try again in 1.2s". The member is the one that bounds the request's output.
func refusal(r *limit.Refusal, member string) *fault.Error {
	subject := subjects[r.Scope]
	if r.Never {
		return impossible(r, subject, member)
	}
	f := &fault.Error{Kind: fault.RateLimited, RetryAfter: r.After, Quota: quotaOf(r)}
	again := fmt.Sprintf("Please try again in %s.", waitText(r.After))
	if r.Metric != limit.Money {
		kind := limit.Kinds[r.Metric]
		f.Reason = kind.Reason
		f.Message = fmt.Sprintf("Rate limit reached for %s: %d %s", subject, r.Limit, kind.Words)
		if r.Metric.Weighed() {
			f.Message += fmt.Sprintf(", and this request may take %d", r.Asked)
		}
		f.Message += ". " + again
	} else {
		f.Quota.ResetTime = timestamppb.New(r.End)
		f.Reason = ReasonBudget
		f.Message = fmt.Sprintf("The budget of %s, %s dollars a %s, has not enough left for this request, which may cost up to %s. %sIt is reset at %s.",
			subject, limit.FormatMoney(r.Limit), r.Period, limit.FormatMoney(r.Asked), map[bool]string{true: "With a lower maximum of output tokens it costs less. "}[member == maximum], r.End.UTC().Format(time.RFC3339))
		if f.Kind = fault.QuotaExhausted; r.Held {
			f.Kind, f.Reason = fault.RateLimited, ReasonBudgetHeld
			f.Message = fmt.Sprintf("What is left of the budget of %s, %s dollars a %s, is held by requests under way; this one may cost up to %s. %s",
				subject, limit.FormatMoney(r.Limit), r.Period, limit.FormatMoney(r.Asked), again)
		}
	}
	f.Message += shareText(r)
	return f
}

// quotaOf is the limit that does not admit a request.
func quotaOf(r *limit.Refusal) *genwayv1.Quota {
	q := &genwayv1.Quota{Scope: r.Scope.String(), Metric: r.Metric.String(), Limit: r.Limit, Period: string(r.Period)}
	if r.Metric == limit.Money {
		q.Unit = "nano-dollars/" + q.Period
	} else {
		q.Unit = limit.Kinds[r.Metric].Unit
	}
	return q
}

// unpriced is the error for a request under a budget whose cost cannot be counted.
func unpriced(model string, terms ledger.Terms) *fault.Error {
	f := fault.New(fault.PermissionDenied, ReasonModelUnpriced, "this key has a budget, and the model %q has no price that could be counted against it", model)
	if words := terms.Words(); len(words) > 0 {
		f.Message += " as the request wants it served: " + strings.Join(words, ", ")
	}
	return f
}

// shareText says how much of a limit is admitted while cores cannot share it; empty where
// all of it is.
func shareText(r *limit.Refusal) string {
	if r.Share == 0 {
		return ""
	}
	share := strconv.FormatInt(r.Share, 10)
	if r.Metric == limit.Money {
		share = limit.FormatMoney(r.Share) + " dollars"
	}
	return fmt.Sprintf(" The store that servers share limits by does not answer at the moment: until it does, this server holds the limit by itself, and admits %s of it.", share)
}

// impossible is the error for a request that the limit will never admit: to send it again
// unchanged does not help.
func impossible(r *limit.Refusal, subject, member string) *fault.Error {
	if r.Metric == limit.Money {
		f := fault.New(fault.QuotaExhausted, ReasonBudget, "This request may cost up to %s dollars, which is more than the whole budget of %s, %s dollars a %s. Lower the request's maximum of output tokens, its number of answers, or how often it lets the vendor's tools be called.",
			limit.FormatMoney(r.Asked), subject, limit.FormatMoney(r.Limit), r.Period)
		f.Quota = quotaOf(r)
		return f
	}
	atLeast := ""
	if r.Asked >= amount.Exact { // where figures end
		atLeast = "at least "
	}
	f := fault.New(fault.InvalidRequest, ReasonTooManyTokens, "This request may take %s%d tokens, of all its answers together. The tokens a minute of %s are limited, so at most %d tokens can be asked for at once. Lower the request's maximum of output tokens, or its number of answers.",
		atLeast, r.Asked, subject, r.Limit)
	f.Param = member
	return f
}

// waitText spells a wait in seconds, or in milliseconds below one: 1.234s, 20ms.
func waitText(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
	}
	// Of whole milliseconds: Seconds adds its parts, and returns 1.6440000000000001 for 1.644.
	return strconv.FormatFloat(float64(d.Round(time.Millisecond).Milliseconds())/1000, 'f', -1, 64) + "s"
}

// rateKeys are the metadata that report a caller's standing with its limits a minute: the limit, what
// remains of it, and the milliseconds until it is unused again, with spaces between.
var rateKeys = func() (names [limit.Concurrent]string) {
	for m := range limit.Concurrent {
		names[m] = "genway-rate-" + m.String()
	}
	return names
}()

// RateBudgetKey says so of the fullest budget: its nano-dollars, those that were spent before the
// request, the period, when it is reset in seconds since 1970, and the scope.
const RateBudgetKey = "genway-rate-budget"

// sendStanding puts a caller's standing with its limits into the answer's headers.
func sendStanding(ctx context.Context, s limit.Standing) {
	if s == (limit.Standing{}) {
		return
	}
	fields := make([]transport.Field, 0, len(rateKeys)+1)
	var buffer [96]byte
	for m, f := range s.Rates {
		if f.Limit == 0 {
			continue
		}
		b := strconv.AppendInt(buffer[:0], f.Limit, 10)
		b = strconv.AppendInt(append(b, ' '), f.Remaining, 10)
		b = strconv.AppendInt(append(b, ' '), int64((f.Reset+time.Millisecond-1)/time.Millisecond), 10)
		fields = append(fields, transport.Field{Name: rateKeys[m], Value: string(b)})
	}
	if m := s.Money; m.Limit != 0 {
		b := strconv.AppendInt(buffer[:0], m.Limit, 10)
		b = strconv.AppendInt(append(b, ' '), m.Spent, 10)
		b = append(append(append(b, ' '), m.Period...), ' ')
		b = append(strconv.AppendInt(b, m.End.Unix(), 10), ' ')
		fields = append(fields, transport.Field{Name: RateBudgetKey, Value: string(append(b, m.Scope.String()...))})
	}
	transport.SetHeader(ctx, fields...)
}
