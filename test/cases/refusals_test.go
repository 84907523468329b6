package cases_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

func refusalCases() []Case {
	return []Case{
		{"N70", "an upstream that refuses one model (429, 529, 503 with Retry-After) is called for its other models: its circuit breaker stays closed, and the refusals reach their callers natively", refusedModel},
		{"N71", "a tenth of the calls that an upstream refuses by what is in them costs nobody else an answer", refusedTenth},
	}
}

// refusing returns a vendor's refusal.
func refusing(status int, header map[string]string, body string) fake.Answer {
	all := map[string]string{"Content-Type": "application/json"}
	maps.Copy(all, header)
	return fake.Answer{Status: status, Header: all, Steps: []fake.Step{fake.Bytes(body)}}
}

// twoModels is a gateway whose models "limited" and "m" go to the chat upstream, which breaks
// after three failures.
func twoModels(t *testing.T) *harness.Gateway {
	t.Helper()
	return harness.New(t, harness.Config{Wrap: func(all upstream.Upstream) upstream.Upstream {
		guard := route.NewGuard(route.Limits{Retries: -1, BreakAfter: 3})
		to := func(model string) route.Route {
			return route.Route{Model: model, Targets: []route.Target{{
				Name: "chat", Upstream: all, Protocol: harness.Chat.ID(), Model: "chat/" + model, Guard: guard,
			}}}
		}
		return route.New([]route.Route{to("limited"), to("m")})
	}})
}

func refusedModel(t *testing.T) {
	for name, refusal := range map[string]fake.Answer{
		"429":                    refusing(http.StatusTooManyRequests, map[string]string{"Retry-After": "7"}, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`),
		"529":                    refusing(529, nil, `{"error":{"message":"Overloaded","type":"overloaded_error"}}`),
		"503 with Retry-After":   refusing(http.StatusServiceUnavailable, map[string]string{"Retry-After": "7"}, `{"error":{"message":"come back later","type":"server_error"}}`),
		"503 that says overload": refusing(http.StatusServiceUnavailable, nil, `{"error":{"message":"The engine is currently overloaded","type":"server_error"}}`),
	} {
		g := twoModels(t)
		const calls = 20
		g.Chat.Answer(slices.Repeat([]fake.Answer{refusal}, calls)...)
		for range calls {
			a := g.Post(harness.Chat, "limited", harness.Chat.Hello())
			if a.Status == http.StatusOK || strings.Contains(string(a.Body), "is not called") {
				t.Fatalf("%s: %d %s", name, a.Status, a.Body)
			}
		}
		g.Chat.Answer(slices.Repeat([]fake.Answer{answers.Text("fine").Answer(harness.Chat, false)}, calls)...)
		for range calls {
			if a := g.Post(harness.Chat, "m", harness.Chat.Hello()); a.Status != http.StatusOK {
				t.Errorf("%s, the other model: %d %s", name, a.Status, a.Body)
			}
		}
	}
}

func refusedTenth(t *testing.T) {
	g := twoModels(t)
	const calls, callers = 200, 8
	var prepared []fake.Answer
	for n := range calls {
		if n%10 == 0 {
			prepared = append(prepared, refusing(http.StatusTooManyRequests, nil, `{"error":{"message":"no","type":"requests"}}`))
			continue
		}
		prepared = append(prepared, answers.Text("fine").Answer(harness.Chat, false))
	}
	g.Chat.Answer(prepared...)
	statuses := make(chan int, calls)
	for range callers {
		go func() {
			for range calls / callers {
				statuses <- g.Call(harness.CallOf(harness.Chat, "m", harness.Chat.Hello(), false)).Status
			}
		}()
	}
	seen := map[int]int{}
	for range calls {
		seen[<-statuses]++
	}
	if seen[http.StatusOK] != calls*9/10 || seen[http.StatusTooManyRequests] != calls/10 {
		t.Errorf("statuses: %v", seen)
	}
}
