package route

import (
	"net/http"
	"strings"

	"github.com/genway/genway/codec/fault"
)

// refusal says whether an upstream has refused a call because it has too much to do. That is
// no failure: fewer calls, or later ones, are answered.
type refusal int

const (
	// noRefusal is an answer, or a failure.
	noRefusal refusal = iota
	// overloadedNow is a refusal that says so: 429, 529, overloaded_error, or a 503 with
	// Retry-After or with a text of overload. It never counts against the circuit breaker.
	overloadedNow
	// unavailable is a 503 that says nothing else. It may be a refusal, or an upstream that
	// is down.
	unavailable
)

// refusalOf classifies the error of a call.
func refusalOf(err error) refusal {
	if err == nil {
		return noRefusal
	}
	f := fault.From(err)
	switch {
	case f.Kind == fault.RateLimited || f.Kind == fault.Overloaded:
		return overloadedNow
	case f.Kind != fault.Unavailable || f.Status != http.StatusServiceUnavailable:
		return noRefusal
	case f.RetryAfter > 0 || saysOverload(f):
		return overloadedNow
	}
	return unavailable
}

// saysOverload reports whether an upstream's error names an overload. The vendors' words:
// OpenAI's server_is_overloaded and "currently overloaded", Anthropic's overloaded_error,
// Google's "The model is overloaded" and RESOURCE_EXHAUSTED, vLLM's and TGI's "overloaded".
func saysOverload(f *fault.Error) bool {
	text := strings.ToLower(f.NativeType + " " + f.NativeCode + " " + f.Message)
	for _, words := range [...]string{"overload", "rate limit", "rate_limit", "too many requests", "resource_exhausted", "at capacity"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
