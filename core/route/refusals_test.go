package route_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// answering is an upstream that answers by a function of the model.
type answering struct {
	stub
	answer func(model string) error
}

func (a *answering) GenerateText(_ context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	if err := a.answer(req.GetModel()); err != nil {
		return nil, err
	}
	return &genwayv1.GenerateTextResponse{}, nil
}

// refusedBy is an answer of an upstream that is no 2xx.
func refusedBy(kind fault.Kind, status int, text string, wait time.Duration) error {
	f := fault.New(kind, "X", "%s", text)
	f.Status, f.RetryAfter = status, wait
	return f
}

// offer asks for the models in turn at a rate, and counts what came of it: the answers, and
// the reasons of the failures.
func offer(t *testing.T, r *route.Router, perSecond int, lasts time.Duration, models ...string) (good int, failed map[string]int) {
	t.Helper()
	failed = map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range int(lasts.Seconds() * float64(perSecond)) {
		time.Sleep(time.Second / time.Duration(perSecond)) //nolint:forbidigo // the bubble's own clock
		all.Go(func() {
			_, err := r.GenerateText(t.Context(), deferred.New(&genwayv1.GenerateTextRequest{Model: models[n%len(models)]}))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				good++
			} else {
				failed[fault.From(err).Reason]++
			}
		})
	}
	all.Wait()
	return good, failed
}

func routed(a *answering, limits route.Limits) *route.Router {
	return route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "u", Upstream: a, Guard: route.NewGuard(limits)}}}})
}

// Refusals for an overload do not open the circuit breaker, however many come in a row, also
// of single calls; a 503 that does not say so is a failure as any other.
func TestRefusalsAreNoFailures(t *testing.T) {
	for name, c := range map[string]struct {
		refusal error
		reason  string
	}{
		"429":                  {refusedBy(fault.RateLimited, 429, "slow down", 0), "X"},
		"529":                  {refusedBy(fault.Overloaded, 529, "Overloaded", 0), "X"},
		"503 with Retry-After": {refusedBy(fault.Unavailable, http.StatusServiceUnavailable, "later", time.Second), "X"},
		"503 with words":       {refusedBy(fault.Unavailable, http.StatusServiceUnavailable, "The model is overloaded.", 0), "X"},
		"503":                  {refusedBy(fault.Unavailable, http.StatusServiceUnavailable, "no backend", 0), "UPSTREAM_BROKEN"},
		"502":                  {refusedBy(fault.BadUpstream, http.StatusBadGateway, "overloaded", 0), "UPSTREAM_BROKEN"},
	} {
		for _, fixed := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				r := routed(&answering{answer: func(string) error { return c.refusal }}, route.Limits{Retries: -1, BreakAfter: 3, Fixed: fixed})
				for range 20 {
					_, _ = ask(r, 0, "m")
				}
				if _, err := ask(r, 0, "m"); fault.From(err).Reason != c.reason {
					t.Errorf("%s, fixed %v: the 21st call: %v", name, fixed, err)
				}
			})
		}
	}
}

// A tenth of mixed traffic is refused for its content: no other request is.
func TestFewRefusalsSetNoBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		r := routed(&answering{answer: func(string) error {
			at := n.Add(1)
			if at%10 == 0 {
				return refusedBy(fault.RateLimited, 429, "no", 0)
			}
			time.Sleep(50 * time.Millisecond) //nolint:forbidigo // the bubble's own clock
			return nil
		}}, route.Limits{Retries: -1})
		if good, failed := offer(t, r, 500, 10*time.Second, "m"); good != 4500 || failed["X"] != 500 {
			t.Errorf("%d were answered, failed: %v", good, failed)
		}
	})
}

// All calls of one model are refused: calls of another are served, and after a while the
// first model's caller gets its vendor's own refusals again.
func TestRefusalsOfOneModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := routed(&answering{answer: func(model string) error {
			time.Sleep(50 * time.Millisecond) //nolint:forbidigo // the bubble's own clock
			if model == "limited" {
				return refusedBy(fault.RateLimited, 429, "no", time.Second)
			}
			return nil
		}}, route.Limits{Retries: -1, BreakAfter: 3})
		offer(t, r, 400, 5*time.Second, "limited") // it finds out
		good, failed := offer(t, r, 400, 5*time.Second, "limited", "m")
		if good != 1000 || failed["X"] != 1000 {
			t.Errorf("%d of 1000 of the other model were answered, failed: %v", good, failed)
		}
	})
}

// Half of the requests are refused whatever the number of calls. Once that is known the
// others are served.
func TestRefusalsThatAreNotForTheNumberOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		r := routed(&answering{answer: func(string) error {
			time.Sleep(20 * time.Millisecond) //nolint:forbidigo // the bubble's own clock
			if n.Add(1)%2 == 0 {
				return refusedBy(fault.Unavailable, http.StatusServiceUnavailable, "no", 0)
			}
			return nil
		}}, route.Limits{Retries: -1})
		offer(t, r, 500, 5*time.Second, "m")
		if good, failed := offer(t, r, 500, 4*time.Second, "m"); good != 1000 {
			t.Errorf("%d of 1000 were answered, failed: %v", good, failed)
		}
	})
}

// An upstream that serves 16 calls at once and refuses the others, however it says so, gets
// as many as it serves from five times as many callers; the breaker stays closed, and
// afterwards all is as before.
func TestRefusingUpstreamsAreUsedInFull(t *testing.T) {
	for name, refusal := range map[string]error{
		"429": refusedBy(fault.RateLimited, 429, "no", 0),
		"503": refusedBy(fault.Unavailable, http.StatusServiceUnavailable, "no", 0),
		"529": refusedBy(fault.Overloaded, 529, "no", 0),
	} {
		synctest.Test(t, func(t *testing.T) {
			slots := make(chan struct{}, 16)
			r := routed(&answering{answer: func(string) error {
				select {
				case slots <- struct{}{}:
					time.Sleep(50 * time.Millisecond) //nolint:forbidigo // the bubble's own clock
					<-slots
					return nil
				default:
					time.Sleep(time.Millisecond) //nolint:forbidigo // the bubble's own clock
					return refusal
				}
			}}, route.Limits{Retries: -1})
			good, failed := offer(t, r, 1600, 10*time.Second, "m")
			if good < 3200*90/100 || failed["UPSTREAM_BROKEN"] > 0 {
				t.Errorf("%s: %d of 3200 that it can serve were answered, failed: %v", name, good, failed)
			}
			time.Sleep(2 * time.Second) //nolint:forbidigo // the bubble's own clock
			if good, failed := offer(t, r, 160, 2*time.Second, "m"); good != 320 {
				t.Errorf("%s, two seconds later: %d of 320 were answered, failed: %v", name, good, failed)
			}
		})
	}
}

// An upstream that answers every call with a bare 503 is down, also when many calls are
// under way.
func TestUpstreamsThatRefuseAllAreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := routed(&answering{answer: func(string) error {
			time.Sleep(50 * time.Millisecond) //nolint:forbidigo // the bubble's own clock
			return refusedBy(fault.Unavailable, http.StatusServiceUnavailable, "no", 0)
		}}, route.Limits{Retries: -1})
		offer(t, r, 500, 2*time.Second, "m")
		if _, failed := offer(t, r, 500, 2*time.Second, "m"); failed["UPSTREAM_BROKEN"] < 900 {
			t.Errorf("the circuit breaker is not open: %v", failed)
		}
	})
}
