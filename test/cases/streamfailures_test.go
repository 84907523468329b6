package cases_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// endings are ways for a stream to fail.
func endings(p harness.Protocol) map[string][]fake.Step {
	ways := map[string][]fake.Step{
		"told":  fake.Events(sorry[p]),
		"cut":   {fake.Cut()},
		"reset": {fake.Reset()},
		"ended": {},
	}
	if p == harness.Chat {
		ways["told"] = fake.Events(sorry[p], "[DONE]")
	}
	if p == harness.Responses {
		ways["failed"] = fake.Events(`{"type":"response.failed","sequence_number":5,"response":{"id":"resp_1","object":"response","created_at":7,"status":"failed","error":{"code":"server_error","message":"too many cooks"},"model":"m","output":[]}}`)
	}
	return ways
}

func failures(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if !w.streamed {
			return
		}
		for name, end := range endings(w.upstream) {
			w.Upstream(w.upstream).Answer(then(begun(w.upstream), end...))
			a := w.ask(w.caller.Hello())
			message := failsInBand(t, w.caller, a)
			if reported := name == "told" || name == "failed"; reported != (message == "too many cooks") || !strings.Contains(string(a.Body), `"fi"`) {
				t.Errorf("%s: %s\n%s", name, message, a.Body)
			}
			if t.Failed() {
				t.Fatalf("%s:\n%s", name, a.Body)
			}
		}
	})
}

func cutAnswers(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		u := w.Upstream(w.upstream)
		if w.streamed {
			for name, steps := range map[string][]fake.Step{"at a frame": unfinished(w.upstream), "in a frame": append(unfinished(w.upstream), fake.Bytes(`data: {"cho`))} {
				u.Answer(then(steps))
				a := w.ask(w.caller.Hello())
				failsInBand(t, w.caller, a)
				if t.Failed() {
					t.Fatalf("%s:\n%s", name, a.Body)
				}
			}
			return
		}
		whole := answers.Text("fine").Body(w.upstream)
		half := fake.Answer{Header: map[string]string{"Content-Type": "application/json"}, Steps: []fake.Step{fake.Bytes(whole[:len(whole)/2])}}
		cut, reset := half, half
		cut.Steps = slices.Concat(half.Steps, []fake.Step{fake.Cut()})
		reset.Steps = slices.Concat(half.Steps, []fake.Step{fake.Reset()})
		for _, answer := range []fake.Answer{half, cut, reset} {
			u.Answer(answer)
			native(t, w.caller, w.ask(w.caller.Hello()), http.StatusBadGateway)
		}
	})
}

func earlyFailures(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if !w.streamed {
			return
		}
		for name, end := range endings(w.upstream) {
			u := w.Upstream(w.upstream)
			u.Answer(then(hello(w.upstream), end...))
			status := http.StatusBadGateway
			if name == "told" && w.upstream == harness.Messages {
				if status = http.StatusServiceUnavailable; w.caller == harness.Messages {
					status = 529
				}
			}
			if name == "told" && (w.upstream == harness.GenerateContent || w.upstream == harness.Interactions) {
				status = http.StatusServiceUnavailable
			}
			before := len(u.Requests())
			a := w.ask(w.caller.Hello())
			message := native(t, w.caller, a, status)
			if reported := name == "told" || name == "failed"; reported != (message == "too many cooks") {
				t.Errorf("%s: %s", name, message)
			}
			if n := len(u.Requests()) - before; n != 1 {
				t.Errorf("%s: the upstream was asked %d times", name, n)
			}
			if t.Failed() {
				t.Fatalf("%s: %d\n%s", name, a.Status, a.Body)
			}
		}
	})
}

func noSecondTry(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if !w.streamed {
			return
		}
		u := w.Upstream(w.upstream)
		u.Answer(then(begun(w.upstream), fake.Cut()))
		a := w.ask(w.caller.Hello())
		if n := len(u.Requests()); n != 1 {
			t.Errorf("the upstream was asked %d times", n)
		}
		if n := strings.Count(string(a.Body), `"fi"`); n != 1 {
			t.Errorf("the text came %d times: %s", n, a.Body)
		}
		starts := map[harness.Protocol]string{harness.Chat: `"role":"assistant"`, harness.Responses: "event: response.created", harness.Messages: "event: message_start", harness.GenerateContent: `"fi"`, harness.Interactions: "event: interaction.created"}
		if n := strings.Count(string(a.Body), starts[w.caller]); n != 1 {
			t.Errorf("the answer began %d times: %s", n, a.Body)
		}
	})
}

func refusedStreams(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		for _, status := range []int{400, 404, 409, 413, 422, 429, 500, 503} {
			w.Upstream(w.upstream).Answer(fake.Refusal(status, refusals[w.upstream], "Retry-After", "3"))
			a := w.ask(w.caller.Hello())
			if w.caller == w.upstream {
				if a.Status != status || string(a.Body) != refusals[w.upstream] {
					t.Errorf("the vendor's own words are not passed on: %d %s", a.Status, a.Body)
				}
			} else if message := native(t, w.caller, a, status); message != "not today" {
				t.Errorf("%d: message %q", status, message)
			}
			if a.Header.Get("Retry-After") != "3" || strings.Contains(string(a.Body), "data:") {
				t.Errorf("%d: %v %s", status, a.Header, a.Body)
			}
		}
	})
}

// refusals are error bodies in the words of each vendor.
var refusals = map[harness.Protocol]string{
	harness.Chat:            `{"error":{"message":"not today","type":"a_type","param":null,"code":"a_code"}}`,
	harness.Responses:       `{"error":{"message":"not today","type":"a_type","param":null,"code":"a_code"}}`,
	harness.Messages:        `{"type":"error","error":{"type":"a_type","message":"not today"},"request_id":"req_1"}`,
	harness.GenerateContent: `{"error":{"code":400,"message":"not today","status":"A_STATUS"}}`,
	harness.Interactions:    `{"error":{"code":"a_code","message":"not today"}}`,
}

func departures(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if !w.streamed {
			return
		}
		never := make(chan struct{})
		u := w.Upstream(w.upstream)
		var all sync.WaitGroup
		for range 4 {
			u.Answer(then(begun(w.upstream), fake.Wait(never)))
			all.Go(func() {
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				r := w.Open(ctx, w.caller, w.model(), w.caller.Hello())
				if _, ok := r.Next(); !ok {
					t.Error("nothing came")
				}
			})
		}
		all.Wait()
		for _, r := range u.Requests() {
			<-r.Done
		}
	})
}

// garbage is what no upstream should say.
var garbage = []string{
	``, `{`, `}`, `null`, `42`, `"x"`, `[]`, `[null]`, `{}`, `{"choices":null}`, `{"choices":[null]}`, `{"choices":[{"delta":null}]}`, `{"choices":[{"index":-1,"delta":{"tool_calls":[{"index":-5}]}}]}`,
	`{"choices":[{"index":2147483647,"delta":{"content":"x"}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":99999999,"function":{"arguments":"{"}}]}}]}`, `{"choices":{},"usage":[]}`, `{"usage":{"prompt_tokens":-9223372036854775808}}`, `{"usage":{"prompt_tokens":1e400}}`,
	`{"type":null}`, `{"type":"message_start"}`, `{"type":"message_start","message":null}`, `{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}`, `{"type":"content_block_start","index":-1,"content_block":null}`, `{"type":"content_block_stop","index":9}`, `{"type":"message_delta"}`, `{"type":"message_stop"}`, `{"type":"error"}`,
	`{"type":"response.created"}`, `{"type":"response.output_text.delta","output_index":-1,"delta":"x"}`, `{"type":"response.output_item.added","output_index":4,"item":{"type":"message","content":[null]}}`, `{"type":"response.output_item.done","output_index":0,"item":null}`, `{"type":"response.completed","response":null}`, `{"type":"response.completed","response":{"output":[null,{}]}}`,
	`{"candidates":null}`, `{"candidates":[null]}`, `{"candidates":[{"index":-1,"content":{"parts":[null,{"functionCall":null},{"functionCall":{"args":[]}}]}}]}`, `{"candidates":[{"finishReason":7}]}`, `{"usageMetadata":{"promptTokenCount":-1,"thoughtsTokenCount":9}}`, `{"error":null}`, `{"error":"x"}`, `{"error":{"code":"x"}}`,
	"{\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}", `{"a":1,"a":2}`, strings.Repeat(`[`, 11000), strings.Repeat(`{"a":`, 11000), `{"choices":[{"delta":{"content":"` + "\\ud800" + `"}}]}`,
}

func malformedAnswers(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		u := w.Upstream(w.upstream)
		for i, bad := range garbage {
			prepared := []fake.Answer{fake.JSON(bad), fake.Refusal(500, bad)}
			if w.streamed { // each of these over some upstream, or all would take long
				frame := fake.Bytes("data: " + bad + "\n\n")
				prepared = []fake.Answer{fake.Stream(frame), then(hello(w.upstream), frame), then(begun(w.upstream), frame, frame), fake.Stream(append([]fake.Step{frame}, fake.Events(answers.Text("fine").Events(w.upstream)...)...)...)}
				turn := (i + len(w.caller)) % 2
				prepared = []fake.Answer{prepared[turn], prepared[turn+2]}
			}
			for _, answer := range prepared {
				u.Answer(answer)
				a := w.ask(w.caller.Hello())
				if a.Status != http.StatusOK && envelope(t, w.caller, a.JSON(), 0) == "" || t.Failed() {
					t.Fatalf("%.100s: %d %.1000s", bad, a.Status, a.Body)
				}
				if a.Status < 200 || a.Status == 499 || len(a.Body) == 0 {
					t.Errorf("%.60s: status %d, %d bytes", bad, a.Status, len(a.Body))
				}
			}
		}
		if _, stack, found := strings.Cut(w.Log(), "panic"); found {
			t.Errorf("panic%.2000s", stack)
		}
		w.receive(t, answers.Text("fine"))
	})
}

func unreachable(t *testing.T) {
	const closedPort = "http://127.0.0.1:1" // a port no listener of a test is given
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		u := w.Upstream(w.upstream)
		u.Answer(fake.Stream(fake.Reset()))
		native(t, w.caller, w.ask(w.caller.Hello()), http.StatusBadGateway)
		w.Gateway = harness.New(t, harness.Config{Remote: func(c *remote.Config) { c.BaseURL = closedPort }})
		a := w.ask(w.caller.Hello())
		message := native(t, w.caller, a, http.StatusServiceUnavailable)
		if strings.Contains(message, "127.0.0.1") || strings.Contains(message, "refused") {
			t.Errorf("the transport's own text reaches the caller: %s", message)
		}
	})
}
