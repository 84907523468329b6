package cases_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/internal/cases/ask"
	"github.com/genway/genway/internal/cases/fake"
	"github.com/genway/genway/internal/cases/gate"
	"github.com/genway/genway/internal/cases/say"
	"github.com/genway/genway/internal/cases/turn"
)

func noArguments(t *testing.T) {
	everyWay(t, gate.Texts(), gate.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return // the upstream's own bytes
		}
		said := say.Tool("call_1", "now", "")
		got := w.hear(t, said)
		calls(t, got, turn.Call{ID: "call_1", Name: "now", Arguments: "{}"})
	})
	// Replayed, as clients have got it from elsewhere.
	replayed := map[gate.Protocol]string{gate.Chat: `"arguments":"{}"`, gate.Responses: `"arguments":"{}"`, gate.Messages: `"input":{}`, gate.GenerateContent: `"args":{}`}
	empty := map[gate.Protocol]string{gate.Chat: `"arguments":""`, gate.Responses: `"arguments":""`, gate.Messages: `"input":{}`, gate.GenerateContent: `"x":0`}
	where := map[gate.Protocol]string{
		gate.Chat: "messages[1].tool_calls[0].function.arguments", gate.Responses: "input[1].arguments",
		gate.Messages: "messages[1].content[0].input", gate.GenerateContent: "contents[1].parts[0].functionCall.args",
	}
	everyWay(t, gate.Texts(), gate.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		call := strings.Replace(ask.Call(w.caller, [3]string{"call_1", "now", "{}"}), replayed[w.caller], empty[w.caller], 1)
		call = strings.Replace(call, `,"x":0`, "", 1)
		seen := w.sees(t, ask.Body(w.caller, nil, ask.User(w.caller, "time?"), call, ask.Result(w.caller, "call_1", "now", "noon")))
		want := "{}"
		if w.upstream == gate.Chat || w.upstream == gate.Responses {
			want = `"{}"`
		}
		seen.At(where[w.upstream]).Is(t, want)
	})
}

func repeatedFinish(t *testing.T) {
	said := say.Tool("call_1", "weather", paris)
	repeats := map[gate.Protocol]func([]string) []string{
		gate.Chat: func(e []string) []string { // the finish chunk twice
			n := len(e) - 3
			return append(append(append([]string{}, e[:n+1]...), e[n]), e[n+1:]...)
		},
		gate.Responses: func(e []string) []string { // arguments.done and item.done twice
			n := len(e) - 3
			return append(append(append([]string{}, e[:n+2]...), e[n], e[n+1]), e[n+2:]...)
		},
		gate.Messages: func(e []string) []string { // block_stop and message_delta twice
			n := len(e) - 3
			return append(append(append([]string{}, e[:n+1]...), e[n], e[n+1]), e[n+1:]...)
		},
		gate.GenerateContent: func(e []string) []string { return append(append([]string{}, e...), e[len(e)-1]) },
	}
	g := gate.New(t, gate.Config{})
	for _, upstream := range gate.Texts() {
		for _, p := range others(upstream) {
			t.Run(string(p)+" over "+string(upstream), func(t *testing.T) {
				g.Upstream(upstream).Answer(fake.Stream(fake.Events(repeats[upstream](said.Events(upstream))...)...))
				got := turn.Read(t, p, g.Stream(p, string(upstream)+"/m", p.Hello()), true)
				calls(t, got, turn.Call{ID: "call_1", Name: "weather", Arguments: paris})
				finishes(t, got, words[p].called)
			})
		}
	}
	// The finish chunk repeats the whole call.
	whole := `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]}`
	for _, p := range others(gate.Chat) {
		g.Chat.Answer(fake.Stream(fake.Events(say.ChatChunk(whole, ""), say.ChatChunk(`{}`, "tool_calls"), say.ChatChunk(`{}`, "tool_calls"), say.ChatUsage(), "[DONE]")...))
		calls(t, turn.Read(t, p, g.Stream(p, "chat/m", p.Hello()), true), turn.Call{ID: "call_1", Name: "weather", Arguments: paris})
	}
}

func cutArguments(t *testing.T) {
	const partial = `{"city":"Par`
	everyWay(t, gate.Texts(), others(gate.GenerateContent), func(t *testing.T, w way) {
		got := w.hear(t, say.Tool("call_1", "weather", partial).Cut())
		finishes(t, got, words[w.caller].truncated)
		if w.upstream == gate.Messages && !w.streamed {
			return // its own unary answer has no partial input
		}
		if w.caller == gate.GenerateContent || w.caller == gate.Messages && !w.streamed {
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
