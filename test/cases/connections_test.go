package cases_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/transcript"
)

func connectionCases() []Case {
	return []Case{
		{"P5", "an upstream may close each connection behind its answer, as engines do with streams: no call fails for that, and none is executed twice", closers},
		{"P6", "what the operator writes is what is called: a base with a path gets no version, a query goes along, and a path takes the place of the protocol's", writtenIsCalled},
		{"P8", "what Genway cannot read of an answer that it passes through counts neither against the call nor against the upstream", oddButGood},
	}
}

func closers(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		executed, address := closing(t, streamed)
		g := harness.New(t, harness.Config{Remote: func(c *remote.Config) { c.BaseURL = address }})
		var callers sync.WaitGroup
		for caller := range 4 {
			callers.Go(func() {
				for n := range 50 {
					body := fmt.Sprintf(`{"messages":[{"role":"user","content":"call %d of %d;"}]}`, n, caller)
					a := g.Call(harness.CallOf(harness.Chat, "chat/m", body, streamed))
					if a.Status != http.StatusOK || !strings.Contains(string(a.Body), "ne") {
						t.Errorf("streamed %v: %d %s", streamed, a.Status, a.Body)
					}
				}
			})
		}
		callers.Wait()
		if counts := executed(); len(counts) != 200 {
			t.Errorf("streamed %v: %d calls were executed", streamed, len(counts))
		} else {
			for call, n := range counts {
				if n != 1 {
					t.Errorf("streamed %v: %s was executed %d times", streamed, call, n)
				}
			}
		}
	}
}

// closing is an upstream of chat that keeps connections by its word, and closes them. It
// gives what was executed how often.
func closing(t *testing.T, streamed bool) (executed func() map[string]int, address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	counts := map[string]int{}
	answer := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
	body := answers.Text("fine").Body(harness.Chat)
	if streamed {
		answer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
		body = "data: " + strings.Join(answers.Text("fine").Events(harness.Chat), "\n\ndata: ") + "\n\n"
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	serve := func(conn net.Conn) {
		defer conn.Close()
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		asked, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		_, call, _ := strings.Cut(string(asked), "call ")
		call, _, _ = strings.Cut(call, ";")
		mu.Lock()
		counts[call]++
		mu.Unlock()
		_, _ = fmt.Fprintf(conn, answer, len(body), body)
	}
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { serve(conn) })
		}
	})
	executed = func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return counts
	}
	return executed, "http://" + listener.Addr().String()
}

func writtenIsCalled(t *testing.T) {
	for _, p := range harness.Texts() {
		for _, c := range []struct {
			base, path string
			called     map[harness.Protocol]string
		}{
			{"", "", map[harness.Protocol]string{harness.Chat: "/v1/chat/completions", harness.Responses: "/v1/responses", harness.Messages: "/v1/messages", harness.GenerateContent: "/v1beta/models/m:generateContent", harness.Interactions: "/v1beta/interactions"}},
			{"/own?a=1", "", map[harness.Protocol]string{harness.Chat: "/own/chat/completions?a=1&b=2", harness.Responses: "/own/responses?a=1&b=2", harness.Messages: "/own/v1/messages?a=1&b=2", harness.GenerateContent: "/own/v1beta/models/m:generateContent?a=1&b=2", harness.Interactions: "/own/v1beta/interactions?a=1&b=2"}},
			{"/v1beta/openai?a=1", "", map[harness.Protocol]string{harness.Chat: "/v1beta/openai/chat/completions?a=1&b=2", harness.Responses: "/v1beta/openai/responses?a=1&b=2", harness.Messages: "/v1beta/openai/messages?a=1&b=2", harness.GenerateContent: "/v1beta/openai/models/m:generateContent?a=1&b=2", harness.Interactions: "/v1beta/openai/interactions?a=1&b=2"}},
			{"?a=1", "/x/y", map[harness.Protocol]string{harness.Chat: "/x/y?a=1&b=2", harness.Responses: "/x/y?a=1&b=2", harness.Messages: "/x/y?a=1&b=2", harness.GenerateContent: "/x/y/m:generateContent?a=1&b=2", harness.Interactions: "/x/y?a=1&b=2"}},
		} {
			g := harness.New(t, harness.Config{Remote: func(config *remote.Config) {
				config.BaseURL, config.Path = config.BaseURL+c.base, c.path
				if strings.Contains(c.base, "?") {
					config.Query = map[string]string{"b": "2"}
				}
			}})
			g.Upstream(p).Answer(answers.Text("fine").Answer(p, false))
			if got := transcript.Read(t, p, g.Post(p, string(p)+"/m", p.Hello()), false); got.Text != "fine" {
				t.Errorf("%s: %+v", p, got)
			}
			if called := g.Upstream(p).Last(t).Path; called != c.called[p] {
				t.Errorf("%s at %q, path %q: calls %s, want %s", p, c.base, c.path, called, c.called[p])
			}
		}
	}
}

// oddButGood has an upstream whose every answer holds what cannot be read, and a circuit
// breaker that opens with the first failure.
func oddButGood(t *testing.T) {
	odd := map[harness.Protocol]func(string) string{
		harness.Chat:            func(s string) string { return strings.Replace(s, `"created":7`, `"created":"x"`, 1) },
		harness.Responses:       func(s string) string { return strings.Replace(s, `"created_at":7`, `"created_at":"x"`, 1) },
		harness.Messages:        func(s string) string { return strings.Replace(s, `"output_tokens":7`, `"output_tokens":"x"`, 1) },
		harness.GenerateContent: func(s string) string { return strings.Replace(s, `"promptTokenCount":11`, `"promptTokenCount":"x"`, 1) },
		harness.Interactions: func(s string) string {
			return strings.Replace(s, `"total_input_tokens":11`, `"total_input_tokens":"x"`, 1)
		},
	}
	for _, p := range harness.Texts() {
		for _, streamed := range []bool{false, true} {
			g := harness.New(t, harness.Config{Wrap: func(all upstream.Upstream) upstream.Upstream {
				return route.New([]route.Route{{Model: "m", Targets: []route.Target{{Name: "u", Upstream: all, Protocol: p.ID(), Model: string(p) + "/m",
					Guard: route.NewGuard(route.Limits{Retries: -1, BreakAfter: 1, BreakFor: time.Hour})}}}})
			}})
			for n := range 5 {
				answer, changed := fake.JSON(odd[p](answers.Text("fine").Body(p))), odd[p](answers.Text("fine").Body(p)) != answers.Text("fine").Body(p)
				if streamed {
					events := answers.Text("fine").Events(p)
					changed = false
					for i, event := range events {
						events[i] = odd[p](event)
						changed = changed || events[i] != event
					}
					answer = fake.Stream(fake.Events(events...)...)
				}
				if !changed {
					t.Fatalf("%s, streamed %v: nothing is odd", p, streamed)
				}
				g.Upstream(p).Answer(answer)
				a := g.Call(harness.CallOf(p, "m", p.Hello(), streamed))
				if a.Status != http.StatusOK || strings.Contains(string(a.Body), `"error":{`) {
					t.Fatalf("%s, streamed %v, call %d: %d %s", p, streamed, n, a.Status, a.Body)
				}
			}
		}
	}
}
