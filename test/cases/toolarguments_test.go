package cases_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
)

func noArguments(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return // the upstream's own bytes
		}
		reply := answers.Tool("call_1", "now", "")
		got := w.receive(t, reply)
		calls(t, got, transcript.Call{ID: "call_1", Name: "now", Arguments: "{}"})
	})
	// Replayed, as clients have got it from elsewhere.
	replayed := map[harness.Protocol]string{harness.Chat: `"arguments":"{}"`, harness.Responses: `"arguments":"{}"`, harness.Messages: `"input":{}`, harness.GenerateContent: `"args":{}`}
	empty := map[harness.Protocol]string{harness.Chat: `"arguments":""`, harness.Responses: `"arguments":""`, harness.Messages: `"input":{}`, harness.GenerateContent: `"x":0`}
	where := map[harness.Protocol]string{
		harness.Chat: "messages[1].tool_calls[0].function.arguments", harness.Responses: "input[1].arguments",
		harness.Messages: "messages[1].content[0].input", harness.GenerateContent: "contents[1].parts[0].functionCall.args",
	}
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		call := strings.Replace(requests.Call(w.caller, [3]string{"call_1", "now", "{}"}), replayed[w.caller], empty[w.caller], 1)
		call = strings.Replace(call, `,"x":0`, "", 1)
		seen := w.sees(t, requests.Body(w.caller, nil, requests.User(w.caller, "time?"), call, requests.Result(w.caller, "call_1", "now", "noon")))
		want := "{}"
		if w.upstream == harness.Chat || w.upstream == harness.Responses {
			want = `"{}"`
		}
		seen.At(where[w.upstream]).Is(t, want)
	})
}

func repeatedFinish(t *testing.T) {
	reply := answers.Tool("call_1", "weather", paris)
	repeats := map[harness.Protocol]func([]string) []string{
		harness.Chat: func(e []string) []string { // the finish chunk twice
			n := len(e) - 3
			return append(append(append([]string{}, e[:n+1]...), e[n]), e[n+1:]...)
		},
		harness.Responses: func(e []string) []string { // arguments.done and item.done twice
			n := len(e) - 3
			return append(append(append([]string{}, e[:n+2]...), e[n], e[n+1]), e[n+2:]...)
		},
		harness.Messages: func(e []string) []string { // block_stop and message_delta twice
			n := len(e) - 3
			return append(append(append([]string{}, e[:n+1]...), e[n], e[n+1]), e[n+1:]...)
		},
		harness.GenerateContent: func(e []string) []string { return append(append([]string{}, e...), e[len(e)-1]) },
	}
	g := harness.New(t, harness.Config{})
	for _, upstream := range harness.Texts() {
		for _, p := range others(upstream) {
			t.Run(string(p)+" over "+string(upstream), func(t *testing.T) {
				g.Upstream(upstream).Answer(fake.Stream(fake.Events(repeats[upstream](reply.Events(upstream))...)...))
				got := transcript.Read(t, p, g.Stream(p, string(upstream)+"/m", p.Hello()), true)
				calls(t, got, transcript.Call{ID: "call_1", Name: "weather", Arguments: paris})
				finishes(t, got, words[p].called)
			})
		}
	}
	// The finish chunk repeats the whole call.
	whole := `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]}`
	for _, p := range others(harness.Chat) {
		g.Chat.Answer(fake.Stream(fake.Events(answers.ChatChunk(whole, ""), answers.ChatChunk(`{}`, "tool_calls"), answers.ChatChunk(`{}`, "tool_calls"), answers.ChatUsage(), "[DONE]")...))
		calls(t, transcript.Read(t, p, g.Stream(p, "chat/m", p.Hello()), true), transcript.Call{ID: "call_1", Name: "weather", Arguments: paris})
	}
}

func cutArguments(t *testing.T) {
	const partial = `{"city":"Par`
	everyWay(t, harness.Texts(), others(harness.GenerateContent), func(t *testing.T, w way) {
		got := w.receive(t, answers.Tool("call_1", "weather", partial).Cut())
		finishes(t, got, words[w.caller].truncated)
		if w.upstream == harness.Messages && !w.streamed {
			return // its own unary answer has no partial input
		}
		if w.caller == harness.GenerateContent || w.caller == harness.Messages && !w.streamed {
			if len(got.Calls) != 0 {
				t.Errorf("calls %q: this protocol has objects only, and none was made", got.Calls)
			}
			return
		}
		if len(got.Calls) != 1 || got.Calls[0].Name != "weather" || got.Calls[0].Arguments != partial {
			t.Errorf("calls %q, want the arguments %q", got.Calls, partial)
		}
	})
}
