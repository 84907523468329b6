package cases_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	books "github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/transcript"
)

func attemptCases() []Case {
	return []Case{
		{"P1", "a half-open circuit breaker closes when the answer of its trial begins: others are served while the trial's stream goes on", trialsEnd},
		{"P2", "an upstream that hangs has its share of the route's deadline: the fallback answers in time, and the upstream's circuit breaker opens", hangersShare},
		{"P3", "a caller who leaves a stream in the middle is charged the same whether the stream passes through or is translated, and the time of its first event is recorded", leaversPay},
		{"P4", "a unary answer that has begun (2xx and headers) is not asked for again, of the same upstream or of another, however it fails; every call counts in X-Genway-Attempts and in the ledger, and what failed attempts used is in its sums", begunOnce},
		{"P7", "headers of a failed attempt never reach the caller, whoever answers in its place", headersOfTheDead},
	}
}

func trialsEnd(t *testing.T) {
	for _, p := range harness.Texts() {
		g := harness.New(t, harness.Config{Wrap: func(all upstream.Upstream) upstream.Upstream {
			return route.New([]route.Route{{Model: "m", Targets: []route.Target{{Name: "u", Upstream: all, Protocol: p.ID(), Model: string(p) + "/m",
				Guard: route.NewGuard(route.Limits{Retries: -1, BreakAfter: 1, BreakFor: time.Millisecond})}}}})
		}})
		never := make(chan struct{})
		t.Cleanup(func() { close(never) })
		u := g.Upstream(p)
		u.Answer(fake.Refusal(http.StatusServiceUnavailable, refusals[p]), then(begun(p), fake.Wait(never)), answers.Text("fine").Answer(p, false))
		if a := g.Post(p, "m", p.Hello()); a.Status != http.StatusServiceUnavailable {
			t.Fatalf("%s: status %d", p, a.Status)
		}
		for len(u.Requests()) < 2 { // the breaker is open for break_for
			readSome(t, g, harness.CallOf(p, "m", p.Hello(), true), func() {
				if a := g.Post(p, "m", p.Hello()); a.Status != http.StatusOK {
					t.Errorf("%s: during the trial's stream: %d %s", p, a.Status, a.Body)
				}
			})
		}
	}
}

func hangersShare(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		g := harness.New(t, harness.Config{Wrap: func(all upstream.Upstream) upstream.Upstream {
			target := func(p harness.Protocol) route.Target {
				return route.Target{Name: string(p), Upstream: all, Protocol: p.ID(), Model: string(p) + "/m",
					Guard: route.NewGuard(route.Limits{Retries: -1, BreakAfter: 2, BreakFor: time.Hour})}
			}
			return route.New([]route.Route{{Model: "m", Deadline: 2 * time.Second, Targets: []route.Target{target(harness.Messages)}, Fallback: []route.Target{target(harness.Chat)}}})
		}})
		never := make(chan struct{})
		t.Cleanup(func() { close(never) })
		hang := fake.Stream(fake.Wait(never))
		if !streamed { // the headers of a unary answer are its beginning
			hang.Hold = never
		}
		g.Messages.Answer(hang, hang)
		for _, calls := range []string{"2", "2", "1"} {
			g.Chat.Answer(answers.Text("second").Answer(harness.Chat, streamed))
			a := g.Call(harness.CallOf(harness.Messages, "m", harness.Messages.Hello(), streamed))
			if got := transcript.Read(t, harness.Messages, a, streamed); got.Text != "second" || a.Header.Get("X-Genway-Attempts") != calls {
				t.Errorf("streamed %v: text %q after %s attempts, want %s", streamed, got.Text, a.Header.Get("X-Genway-Attempts"), calls)
			}
		}
	}
}

func begunOnce(t *testing.T) {
	everyFailure(t, func(t *testing.T, first harness.Protocol, name string, broken fake.Answer) {
		for _, second := range []harness.Protocol{first, others(first)[0]} {
			recorder, rows := newBook(t)
			g := gateTo(t, recorder, first, second)
			g.Upstream(first).Answer(broken, answers.Text("again").Answer(first, false))
			g.Upstream(second).Answer(answers.Text("second").Answer(second, false))
			caller := others(first)[0]
			a := g.Post(caller, "m", caller.Hello())
			if n := len(g.Upstream(first).Requests()); first != second && (n != 1 || len(g.Upstream(second).Requests()) != 0) || n != 1 {
				t.Errorf("%s, then %s: the upstreams were asked %d and %d times", name, second, n, len(g.Upstream(second).Requests()))
			}
			if a.Status < 400 || a.Header.Get("X-Genway-Attempts") != "1" {
				t.Errorf("%s, then %s: status %d after %s attempts: %s", name, second, a.Status, a.Header.Get("X-Genway-Attempts"), a.Body)
			}
			if row := settled(t, rows, 1); row.Attempts != 1 || row.Outcome != books.Failed {
				t.Errorf("%s, then %s: %+v", name, second, row.Result)
			}
		}
	})
	t.Run("every call counts", callsCount)
	t.Run("what failed attempts used", attemptsUse)
}

// everyFailure runs a test for each upstream and each way in which a unary answer with
// status 200 fails.
func everyFailure(t *testing.T, run func(*testing.T, harness.Protocol, string, fake.Answer)) {
	for _, p := range harness.Texts() {
		body := answers.Text("fine").Body(p)
		header := map[string]string{"Content-Type": "application/json"}
		for name, answer := range map[string]fake.Answer{
			"cut":              {Header: header, Steps: []fake.Step{fake.Bytes(body[:len(body)/2]), fake.Cut()}},
			"cut at its start": {Header: header, Steps: []fake.Step{fake.Bytes(""), fake.Cut()}},
			"half a document":  fake.JSON(body[:len(body)/2]),
			"empty":            fake.JSON(""),
			"no JSON":          fake.JSON("<html>"),
			"another document": fake.JSON(`[]`),
			"a failure told":   fake.JSON(refusals[p]),
		} {
			t.Run(string(p)+" "+name, func(t *testing.T) { run(t, p, name, answer) })
		}
	}
}

// gateTo is a gateway whose model "m" goes to the first upstream, with three retries, and
// then to the second.
func gateTo(t *testing.T, recorder *books.Recorder, first, second harness.Protocol) *harness.Gateway {
	t.Helper()
	return harness.New(t, harness.Config{Ledger: recorder, Wrap: func(all upstream.Upstream) upstream.Upstream {
		target := func(p harness.Protocol) route.Target {
			return route.Target{Name: string(p), Upstream: all, Protocol: p.ID(), Model: string(p) + "/m",
				Guard: route.NewGuard(route.Limits{Retries: 3, Backoff: time.Millisecond})}
		}
		return route.New([]route.Route{{Model: "m", Targets: []route.Target{target(first)}, Fallback: []route.Target{target(second)}}})
	}})
}

// callsCount has an upstream refuse four times, and another answer.
func callsCount(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		recorder, rows := newBook(t)
		g := gateTo(t, recorder, harness.Chat, harness.Messages)
		down := fake.Refusal(http.StatusServiceUnavailable, refusals[harness.Chat])
		g.Chat.Answer(down, down, down, down)
		g.Messages.Answer(answers.Text("second").Answer(harness.Messages, streamed))
		a := g.Call(harness.CallOf(harness.Chat, "m", harness.Chat.Hello(), streamed))
		if got := transcript.Read(t, harness.Chat, a, streamed); got.Text != "second" {
			t.Errorf("streamed %v: text %q", streamed, got.Text)
		}
		if n := len(g.Chat.Requests()); n != 4 || a.Header.Get("X-Genway-Attempts") != "5" {
			t.Errorf("streamed %v: %d calls of the first, %s attempts", streamed, n, a.Header.Get("X-Genway-Attempts"))
		}
		if row := settled(t, rows, 1); row.Attempts != 5 {
			t.Errorf("streamed %v: %+v", streamed, row.Result)
		}
	}
}

// attemptsUse has an upstream report usage, or none, fail before any content, and be asked again.
func attemptsUse(t *testing.T) {
	for _, caller := range harness.Texts() {
		recorder, rows := newBook(t)
		g := gateTo(t, recorder, harness.Messages, harness.Chat)
		g.Messages.Answer(then(hello(harness.Messages), fake.Cut()), answers.Text("again").Answer(harness.Messages, true))
		a := g.Call(harness.CallOf(caller, "m", caller.Hello(), true))
		if got := transcript.Read(t, caller, a, true); got.Text != "again" {
			t.Errorf("%s: text %q", caller, got.Text)
		}
		if row := settled(t, rows, 1); row.Attempts != 2 || row.Usage.Input != 22 || row.Usage.Output != 14 {
			t.Errorf("%s: %+v", caller, row.Result)
		}
		recorder, rows = newBook(t)
		g = gateTo(t, recorder, harness.Chat, harness.Messages)
		g.Chat.Answer(then(hello(harness.Chat), fake.Cut()), answers.Text("again").Answer(harness.Chat, true))
		g.Call(harness.CallOf(caller, "m", caller.Hello(), true))
		if row := settled(t, rows, 1); row.Attempts != 2 || row.Usage.Input != 1+11 || row.Usage.Output != 7 || row.UsageSource != books.Estimated {
			t.Errorf("%s: %+v", caller, row.Result)
		}
	}
}

func headersOfTheDead(t *testing.T) {
	const secret = "req_of_the_first"
	own := []string{"X-Request-Id", secret, "Request-Id", secret, "Retry-After", "77", "X-Ratelimit-Limit-Requests", "1", "Openai-Processing-Ms", "7", "Openai-Version", "old",
		"Anthropic-Ratelimit-Requests-Limit", "1", "Set-Cookie", "a=" + secret}
	for _, first := range harness.Texts() {
		for _, second := range harness.Texts() {
			for _, streamed := range []bool{false, true} {
				g := gateTo(t, nil, first, second)
				g.Upstream(first).Answer(fake.Refusal(http.StatusTooManyRequests, refusals[first], own...))
				if first == second { // it is asked again because its first answer says nothing of a wait
					g.Upstream(first).Answer(fake.Refusal(http.StatusServiceUnavailable, refusals[first], own[6:]...))
				}
				g.Upstream(second).Answer(answers.Text("second").Answer(second, streamed))
				a := g.Call(harness.CallOf(first, "m", first.Hello(), streamed))
				if got := transcript.Read(t, first, a, streamed); got.Text != "second" {
					t.Errorf("%s, then %s: text %q", first, second, got.Text)
				}
				for name, values := range a.Header {
					if strings.Contains(strings.ToLower(name), "ratelimit") || strings.Contains(strings.Join(values, " "), secret) {
						t.Errorf("%s, then %s, streamed %v: %s: %v", first, second, streamed, name, values)
					}
				}
				for _, name := range []string{"Retry-After", "Openai-Processing-Ms", "Openai-Version", "Set-Cookie", "X-Genway-Upstream-Request-Id"} {
					if values := a.Header.Values(name); len(values) > 0 {
						t.Errorf("%s, then %s, streamed %v: %s: %v", first, second, streamed, name, values)
					}
				}
			}
		}
	}
}
