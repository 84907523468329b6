package cases_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/transcript"
)

func resilienceCases() []Case {
	return []Case{
		{"K6", "a caller who leaves ends the upstream's call, before the answer and in the middle, streamed or not, and nothing is tried again; or, by the operator's choice, the answer is read to its end and settled on the upstream's figures", func(t *testing.T) {
			t.Run("cancel", leavers)
			t.Run("drain", drains)
		}},
		{"K7", "what belongs to an attempt ends with it: after a fallback keys, headers, models, usage and content are those of the upstream that answered", attempts},
		{"K12", "any 2xx is success", successes},
	}
}

// routed is a gateway whose model "m" goes to the first upstream, with retries, and
// then to the second.
func routed(t *testing.T, first, second harness.Protocol) *harness.Gateway {
	t.Helper()
	return harness.New(t, harness.Config{Wrap: func(all upstream.Upstream) upstream.Upstream {
		target := func(p harness.Protocol) route.Target {
			return route.Target{Name: string(p), Upstream: all, Protocol: p.ID(), Model: string(p) + "/m-of-" + string(p),
				Guard: route.NewGuard(route.Limits{Retries: 1, Backoff: time.Millisecond})}
		}
		return route.New([]route.Route{{Model: "m", Targets: []route.Target{target(first)}, Fallback: []route.Target{target(second)}}})
	}})
}

func leavers(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		second := others(w.upstream)[0]
		g := routed(t, w.upstream, second)
		first := g.Upstream(w.upstream)
		never := make(chan struct{})
		body := answers.Text("fine").Body(w.upstream)
		moments := map[string]fake.Answer{
			"before the answer": {Steps: []fake.Step{fake.Wait(never)}},
			"in the middle":     {Header: map[string]string{"Content-Type": "application/json"}, Steps: []fake.Step{fake.Bytes(body[:len(body)/2]), fake.Wait(never)}},
		}
		if w.streamed {
			moments["in the middle"] = then(begun(w.upstream), fake.Wait(never))
		}
		for when, answer := range moments {
			before := len(first.Requests())
			first.Answer(answer)
			ctx, leave := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- await(ctx, g, harness.CallOf(w.caller, "m", w.caller.Hello(), w.streamed)) }()
			for len(first.Requests()) == before {
				runtime.Gosched()
			}
			leave()
			<-first.Last(t).Done
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", when, err)
			}
			if n := len(first.Requests()) - before; n != 1 || len(g.Upstream(second).Requests()) != 0 {
				t.Errorf("%s: the upstreams were asked %d and %d times", when, n, len(g.Upstream(second).Requests()))
			}
		}
	})
}

// await makes a call and reads its answer until there is no more.
func await(ctx context.Context, g *harness.Gateway, call harness.Call) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+call.Path, strings.NewReader(call.Body))
	if err != nil {
		return err
	}
	req.Header = call.Header
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for buf := make([]byte, 1<<10); ; {
		if _, err := resp.Body.Read(buf); err != nil {
			return err
		}
	}
}

func attempts(t *testing.T) {
	for _, first := range harness.Texts() {
		for _, second := range others(first) {
			for name, streamed := range map[string]bool{"unary": false, "streamed": true} {
				t.Run(string(first)+", then "+string(second)+", "+name, func(t *testing.T) {
					fallsBack(t, first, second, streamed)
				})
			}
		}
	}
}

func fallsBack(t *testing.T, first, second harness.Protocol, streamed bool) {
	t.Helper()
	g := routed(t, first, second)
	if streamed {
		// It begins an answer, twice, and breaks off.
		cut := then(hello(first), fake.Cut())
		g.Upstream(first).Answer(cut, cut)
	} else {
		// One that says how long to wait is not asked again.
		g.Upstream(first).Answer(fake.Refusal(http.StatusTooManyRequests, refusals[first], "Retry-After", "77", "X-Request-Id", "req_of_the_first", "X-Ratelimit-Limit", "1"))
	}
	g.Upstream(second).Answer(answers.Text("second").Answer(second, streamed))
	a := g.Call(harness.CallOf(first, "m", strings.Replace(first.Hello(), "{", `{"xUnknown":1,`, 1), streamed))
	if got := transcript.Read(t, first, a, streamed); got.Text != "second" {
		t.Errorf("text %q", got.Text)
	}
	calls := map[bool]string{false: "2", true: "3"}[streamed]
	if a.Header.Get("X-Genway-Upstream") != string(second) || a.Header.Get("X-Genway-Attempts") != calls {
		t.Errorf("served by %q after %q", a.Header.Get("X-Genway-Upstream"), a.Header.Get("X-Genway-Attempts"))
	}
	for name, want := range map[string]string{"Retry-After": "", "X-Ratelimit-Limit": "", "X-Genway-Lost": "xUnknown"} {
		if value := strings.Join(a.Header.Values(name), ", "); value != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
	asked := g.Upstream(second).Last(t)
	keys := strings.Join([]string{asked.Header.Get("Authorization"), asked.Header.Get("X-Api-Key"), asked.Header.Get("X-Goog-Api-Key")}, "")
	if strings.TrimPrefix(keys, "Bearer ") != "upstream-key-of-"+string(second) {
		t.Errorf("asked with %q", keys)
	}
	if address := asked.Path + string(asked.Body); !strings.Contains(address, "m-of-"+string(second)) || strings.Contains(address, "m-of-"+string(first)) {
		t.Errorf("asked for %s", address)
	}
	if strings.Contains(string(a.Body), "req_of_the_first") || strings.Count(g.Log(), "output_tokens=7") != 1 {
		t.Errorf("the first upstream shows, or was billed: %s\n%s", a.Body, g.Log())
	}
}

func successes(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		for _, status := range []int{200, 201, 202, 203, 206, 299} {
			answer := answers.Text("fine").Answer(w.upstream, w.streamed)
			answer.Status = status
			w.Upstream(w.upstream).Answer(answer)
			if got := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), w.streamed); got.Text != "fine" {
				t.Errorf("%d: %+v", status, got)
			}
		}
		w.Upstream(w.upstream).Answer(fake.Answer{Status: http.StatusNoContent})
		native(t, w.caller, w.ask(w.caller.Hello()), http.StatusBadGateway)
	})
	t.Run("images", func(t *testing.T) {
		g := harness.New(t, harness.Config{})
		g.Images.Answer(fake.Refusal(http.StatusCreated, `{"created":7,"data":[{"b64_json":"aGk="}]}`))
		a := g.Post(harness.Images, "images/m", harness.Images.Hello())
		if a.Status != http.StatusOK {
			t.Errorf("status %d: %s", a.Status, a.Body)
		}
		a.JSON().At("data[0].b64_json").Is(t, `"aGk="`)
	})
}
