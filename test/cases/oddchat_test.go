package cases_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/transcript"
)

// chunked returns chunks of chat completions with these deltas of one choice, and its end.
func chunked(finish string, deltas ...string) []string {
	var events []string
	for _, delta := range deltas {
		events = append(events, `{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":`+delta+`,"finish_reason":null}]}`)
	}
	return append(events, `{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"`+finish+`"}]}`, `[DONE]`)
}

// Case T59: what a chat upstream streams amounts to what its unary answer says, also where its
// chunks are not as the vendor's: a function's name comes in pieces, again in each chunk or as what
// there is of it so far, and the identifier of a call behind its name or its arguments.
func TestChatCallsInOddPieces(t *testing.T) {
	for name, deltas := range map[string][]string{
		"the name in two pieces": {
			`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"weather","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"\"Rome\"}"}}]}`},
		"the name in each chunk": {
			`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":"}}]}`,
			`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"\"Rome\"}"}}]}`},
		"the name as far as it is": {
			`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get"}}]}`,
			`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Rome\"}"}}]}`},
		"the identifier behind the name": {
			`{"tool_calls":[{"index":0,"type":"function","function":{"name":"get_weather"}}]}`,
			`{"tool_calls":[{"index":0,"id":"call_1"}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Rome\"}"}}]}`},
		"the identifier behind the arguments": {
			`{"tool_calls":[{"index":0,"type":"function","function":{"name":"get_weather","arguments":"{\"city\":"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"\"Rome\"}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"call_1"}]}`},
		"a negative index": {
			`{"tool_calls":[{"index":-1,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]}`,
			`{"tool_calls":[{"index":-1,"function":{"arguments":"{\"city\":\"Rome\"}"}}]}`},
		"the name behind the arguments": {
			`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"arguments":"{\"city\":\"Rome\"}"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"get_weather"}}]}`},
		"the deprecated member in pieces": {
			`{"function_call":{"name":"get_"}}`, `{"function_call":{"name":"weather"}}`, `{"function_call":{"arguments":"{\"city\":\"Rome\"}"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, caller := range others(harness.Chat) {
				g := harness.New(t, harness.Config{})
				g.Chat.Answer(fake.Stream(fake.Events(chunked("tool_calls", deltas...)...)...))
				got := transcript.Read(t, caller, g.Stream(caller, "chat/m", caller.Hello()), true)
				if len(got.Calls) != 1 || got.Calls[0].Name != "get_weather" || strings.ReplaceAll(got.Calls[0].Arguments, " ", "") != `{"city":"Rome"}` ||
					got.Calls[0].ID != "call_1" && !strings.Contains(name, "deprecated") {
					t.Errorf("%s: %+v", caller, got.Calls)
				}
			}
		})
	}
}

// The only answer of an upstream is the caller's, whatever its index is.
func TestOnlyAnswerOfAnotherIndex(t *testing.T) {
	everyWay(t, harness.Texts(), only(harness.Chat, harness.GenerateContent), func(t *testing.T, w way) {
		unary := `{"id":"c1","object":"chat.completion","created":7,"model":"m","choices":[{"index":1,"message":{"role":"assistant","content":"fine"},"finish_reason":"length"}]}`
		events := []string{
			`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":1,"delta":{"content":"fi"},"finish_reason":null}]}`,
			`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":1,"delta":{"content":"ne"},"finish_reason":"length"}]}`, `[DONE]`}
		if w.upstream == harness.GenerateContent {
			unary = `{"candidates":[{"index":1,"content":{"role":"model","parts":[{"text":"fine"}]},"finishReason":"MAX_TOKENS"}],"modelVersion":"m"}`
			events = []string{
				`{"candidates":[{"index":1,"content":{"role":"model","parts":[{"text":"fi"}]}}],"modelVersion":"m"}`,
				`{"candidates":[{"index":1,"content":{"role":"model","parts":[{"text":"ne"}]},"finishReason":"MAX_TOKENS"}],"modelVersion":"m"}`}
		}
		if w.streamed {
			w.Upstream(w.upstream).Answer(fake.Stream(fake.Events(events...)...))
		} else {
			w.Upstream(w.upstream).Answer(fake.JSON(unary))
		}
		a := w.ask(w.caller.Hello())
		if w.caller == harness.Messages || w.caller == harness.Responses || w.caller == harness.Interactions {
			got := transcript.Read(t, w.caller, a, w.streamed)
			if got.Text != "fine" || got.Finish != words[w.caller].truncated {
				t.Errorf("%+v", got)
			}
		} else if body := string(a.Body); a.Status != http.StatusOK || !strings.Contains(body, "fi") || !strings.Contains(body, "ne") || !strings.Contains(body, `"index":1`) {
			t.Errorf("%d %s", a.Status, body)
		}
		if lost := a.Header.Get("X-Genway-Lost") + a.Trailer.Get("X-Genway-Lost"); lost != "" {
			t.Errorf("lost: %s", lost)
		}
	})
}

// An answer without choices is none, unless the caller's protocol is the upstream's (case X2).
func TestNoChoices(t *testing.T) {
	everyWay(t, harness.Texts(), only(harness.Chat), func(t *testing.T, w way) {
		for _, usage := range []string{`null`, `{"prompt_tokens":7,"completion_tokens":0,"total_tokens":7}`} {
			body := `{"id":"c1","object":"chat.completion","created":7,"model":"m","choices":[],"usage":` + usage + `}`
			if w.streamed {
				w.Chat.Answer(fake.Stream(fake.Events(body, `[DONE]`)...))
			} else {
				w.Chat.Answer(fake.JSON(body))
			}
			a := w.ask(w.caller.Hello())
			if w.caller != harness.Chat {
				native(t, w.caller, a, http.StatusBadGateway)
			} else if a.Status != http.StatusOK || !strings.Contains(string(a.Body), body) && !strings.Contains(string(a.Body), "[DONE]") {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		if strings.Contains(w.Log(), " kind=bad_upstream ") != (w.caller != harness.Chat) || !strings.Contains(w.Log(), "input_tokens=7") {
			t.Errorf("the log says %s", w.Log())
		}
	})
}

// A fingerprint that comes with the usage, as vLLM's, is named as lost in a translated stream, and passes
// for callers of the upstream's protocol.
func TestLateFingerprint(t *testing.T) {
	for _, caller := range harness.Texts() {
		g := harness.New(t, harness.Config{})
		g.Chat.Answer(fake.Stream(fake.Events(
			`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"fine"},"finish_reason":"stop"}]}`,
			`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[],"system_fingerprint":"fp_late"}`, `[DONE]`)...))
		a := g.Stream(caller, "chat/m", caller.Hello())
		lost := strings.Contains(a.Header.Get("X-Genway-Lost")+a.Trailer.Get("X-Genway-Lost"), "ingerprint")
		if passed := strings.Contains(string(a.Body), "fp_late"); passed != (caller == harness.Chat) || lost == passed {
			t.Errorf("%s: lost %t: %s %v", caller, lost, a.Body, a.Trailer)
		}
	}
}
