package cases_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
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
	replayed := map[harness.Protocol]string{harness.Chat: `"arguments":"{}"`, harness.Responses: `"arguments":"{}"`, harness.Messages: `"input":{}`, harness.GenerateContent: `"args":{}`, harness.Interactions: `"arguments":{}`}
	empty := map[harness.Protocol]string{harness.Chat: `"arguments":""`, harness.Responses: `"arguments":""`, harness.Messages: `"input":{}`, harness.GenerateContent: `"x":0`, harness.Interactions: `"arguments":{}`}
	where := map[harness.Protocol]string{
		harness.Chat: "messages[1].tool_calls[0].function.arguments", harness.Responses: "input[1].arguments",
		harness.Messages: "messages[1].content[0].input", harness.GenerateContent: "contents[1].parts[0].functionCall.args", harness.Interactions: "input[1].arguments",
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
		harness.Interactions: func(e []string) []string { // step.stop and interaction.completed twice
			n := len(e) - 3
			return append(append(append([]string{}, e[:n+1]...), e[n], e[n+1]), e[n+1:]...)
		},
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
		if (w.upstream == harness.Messages || w.upstream == harness.Interactions) && !w.streamed {
			return // its own unary answer has no partial input
		}
		if w.caller == harness.GenerateContent || (w.caller == harness.Messages || w.caller == harness.Interactions) && !w.streamed {
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

// failed demands that an answer failed natively, and that no event says that its call, or the
// answer, is whole.
func failed(t *testing.T, w way, a harness.Answer) {
	t.Helper()
	if a.Status == http.StatusOK && w.streamed {
		failsInBand(t, w.caller, a)
	} else {
		native(t, w.caller, a, http.StatusBadGateway)
	}
	for _, success := range []string{"arguments.done", "output_item.done", "input.done", `"args":{`, `"status":"completed"`} {
		if strings.Contains(string(a.Body), success) {
			t.Errorf("%s over %s: %s looks like success\n%s", w.caller, w.upstream, success, a.Body)
		}
	}
}

func brokenOffCalls(t *testing.T) {
	const said = `{"filePath":"foo`
	everyWay(t, harness.Texts(), others(harness.GenerateContent), func(t *testing.T, w way) {
		if w.caller == w.upstream || (w.upstream == harness.Messages || w.upstream == harness.Interactions) && !w.streamed {
			return // the upstream's own bytes, and a unary body that has no partial input
		}
		for _, arguments := range []string{said, `{`, `{"a":1`, `{"a":{"b":[1,{"c":"}]}"`, ` {"a":"\u00`, `["a"`} {
			w.Upstream(w.upstream).Answer(answers.Tool("call_1", "write", arguments).Answer(w.upstream, w.streamed))
			failed(t, w, w.ask(w.caller.Hello()))
			if t.Failed() {
				t.Fatalf("arguments %s", arguments)
			}
		}
		if !w.streamed {
			return
		}
		// The end of the bytes, at every event within the call.
		events := answers.Tool("call_1", "write", said).Events(w.upstream)
		for n := 2; n < len(events)-2; n++ {
			w.Upstream(w.upstream).Answer(fake.Stream(fake.Events(events[:n]...)...))
			failed(t, w, w.ask(w.caller.Hello()))
		}
	})
	everyWay(t, others(harness.Chat), only(harness.Chat), func(t *testing.T, w way) {
		call := func(arguments string) string {
			return `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"write","arguments":` + strconv.Quote(arguments) + `}}]}`
		}
		for _, arguments := range []string{said, ""} {
			answer := fake.Stream(fake.Events(answers.ChatChunk(`{"role":"assistant","content":""}`, ""), answers.ChatChunk(call(arguments), ""), "[DONE]")...)
			if !w.streamed {
				answer = fake.JSON(`{"id":"c","choices":[{"index":0,"message":{"role":"assistant",` + call(arguments)[1:] + `}]}`)
			}
			w.Chat.Answer(answer)
			failed(t, w, w.ask(w.caller.Hello()))
			if t.Failed() {
				t.Fatalf("arguments %q without a reason to stop", arguments)
			}
		}
		// Whole arguments, and a text, without a reason to stop are whole.
		for _, reply := range []answers.Reply{answers.Tool("call_1", "write", paris), answers.Text("fine")} {
			body := fake.JSON(strings.NewReplacer(`"finish_reason":"tool_calls"`, `"finish_reason":null`, `"finish_reason":"stop"`, `"finish_reason":null`).Replace(reply.Body(harness.Chat)))
			if w.streamed {
				events := reply.Events(harness.Chat)
				body = fake.Stream(fake.Events(append(events[:len(events)-3], "[DONE]")...)...)
			}
			w.Chat.Answer(body)
			if a := w.ask(w.caller.Hello()); a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
	})
	// A direct caller gets the call's pieces, and not its end.
	g := harness.New(t, harness.Config{})
	for _, p := range others(harness.GenerateContent) {
		g.Upstream(p).Answer(answers.Tool("call_1", "write", said).Answer(p, true))
		stream, err := g.Core.StreamGenerateText(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer internal"), &genwayv1.GenerateTextRequest{
			Model: string(p) + "/m", Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{codec.TextPart("hi")}}},
		})
		for err == nil {
			var ev *genwayv1.StreamGenerateTextResponse
			if ev, err = stream.Recv(); ev.GetPartCompleted() != nil || ev.GetCompleted() != nil {
				t.Errorf("%s: %v", p, ev)
			}
		}
		if status.Code(err) != codes.Unavailable && !strings.Contains(err.Error(), `"write"`) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func callsWithoutArguments(t *testing.T) {
	everyWay(t, harness.Texts(), others(harness.GenerateContent), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		for _, before := range []answers.Reply{{}, answers.Text("hm"), answers.Tool("call_0", "read", paris)} {
			w.Upstream(w.upstream).Answer(before.Then(answers.Tool("call_1", "write", "").Cut()).Answer(w.upstream, w.streamed))
			a := w.ask(w.caller.Hello())
			got := transcript.Read(t, w.caller, a, w.streamed)
			finishes(t, got, words[w.caller].truncated)
			last := transcript.Call{}
			if n := len(got.Calls); n > 0 {
				last = got.Calls[n-1]
			}
			switch w.caller {
			case harness.Chat, harness.Responses:
				if last.Name != "write" || last.Arguments != "" {
					t.Errorf("calls %q", got.Calls)
				}
				if w.caller == harness.Responses && !strings.Contains(string(a.Body), `"status":"incomplete","arguments":""`) {
					t.Errorf("the call does not look incomplete: %s", a.Body)
				}
				if len(got.Calls) == 1 && strings.Contains(string(a.Body), "arguments.done") {
					t.Errorf("the arguments look done: %s", a.Body)
				}
			default:
				if last.Name == "write" || !w.streamed && !strings.Contains(a.Header.Get("X-Genway-Lost"), "tool_call") && !strings.Contains(a.Header.Get("X-Genway-Lost"), "content") {
					t.Errorf("calls %q, lost %q", got.Calls, a.Header.Get("X-Genway-Lost"))
				}
			}
			if strings.Contains(string(a.Body), `"{}"`) || strings.Contains(string(a.Body), `"args":{}`) {
				t.Errorf("an empty object: %s", a.Body)
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	})
}
