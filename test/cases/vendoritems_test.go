package cases_test

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/sandbox"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
)

// vendorCases are the cases of what only the caller's vendor can act on: tools that it
// runs, and what they have left in the conversation.
func vendorCases() []Case {
	return []Case{
		{"X20", "a vendor's finished items in the history cross as their text, or are left out and named", vendorHistory},
		{"X25", "a caller who names no limit gets the model's most, which is no loss; a smaller bound of the target holds", unlimited},
		{"X31", "a call whose namespace is its own name is a call of the tool of that name", ownNamespaces},
		{"X51", "tools that the caller runs and whose schemas its vendor fixes (bash, text_editor, memory; apply_patch, shell, local_shell) are functions elsewhere, and their calls and results are the caller's own items, streamed as unary", callerTools},
		{"X52", "deferred tools of messages are offered elsewhere once a tool_reference, a call or the choice names them; none is lost, and all are offered where the vendor was to find them", deferredTools},
		{"X53", "the billing line of Claude Code's system text goes to upstreams of messages alone, and is no loss elsewhere", billingLines},
		{"X54", "what a conversation says of its own settings (configuration_update of responses, output_config, tool_addition and tool_removal of a system turn of messages) is the request's elsewhere; a summary that is asked for in place of an answer is refused by name", changedSettings},
		{"X32", "tools that a choice leaves out, and the name and description of a schema, are named one by one", namedOneByOne},
		{"X21", "hosted tools that are merely offered are left out and named; one that is demanded is refused by its path", offeredTools},
	}
}

// strict makes every call of an upstream strict.
type strict struct{ upstream.Upstream }

func strictly(u upstream.Upstream) upstream.Upstream { return strict{u} }

func (s strict) GenerateText(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	call.Of(ctx).Strict = true
	return s.Upstream.GenerateText(ctx, req)
}

func (s strict) StreamGenerateText(ctx context.Context, req *deferred.Request, send upstream.Send) error {
	call.Of(ctx).Strict = true
	return s.Upstream.StreamGenerateText(ctx, req, send)
}

// history is a conversation with items that only its vendor can act on.
type history struct {
	turns []string
	// text is what of the items any model can read; "" is nothing.
	text string
	// dropped must not reach another vendor.
	dropped []string
}

// histories are those of each protocol that has such items.
func histories() map[harness.Protocol][]history {
	return map[harness.Protocol][]history{
		harness.Responses: {
			{turns: []string{`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q1"}}`}, dropped: []string{"web_search_call", "ws_1"}},
			{turns: []string{`{"type":"code_interpreter_call","id":"ci_1","status":"completed","container_id":"c1","code":"print(6*7)","outputs":[{"type":"logs","logs":"forty-two"}]}`}, text: "forty-two", dropped: []string{"container_id"}},
			{turns: []string{`{"type":"mcp_call","id":"m1","server_label":"s","name":"n","arguments":"{}","output":"from the server"}`}, text: "from the server", dropped: []string{"server_label"}},
			{turns: []string{`{"type":"tool_search_call","call_id":"s1","execution":"client","arguments":{"queries":["x"]},"status":"completed"}`, `{"type":"tool_search_output","call_id":"s1","execution":"client","tools":[],"status":"completed"}`}, dropped: []string{"tool_search"}},
		},
		harness.Messages: {
			{turns: []string{`{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q1"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"T","url":"https://a.example","encrypted_content":"xyz"}]},{"type":"text","text":"found"}]}`}, text: "found", dropped: []string{"srvtoolu_1", "xyz"}},
			{turns: []string{`{"role":"assistant","content":[{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_2","content":{"type":"bash_code_execution_result","stdout":"forty-two","stderr":"","return_code":0,"content":[]}}]}`}, text: "forty-two", dropped: []string{"return_code"}},
			{turns: []string{`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"search","input":{}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_reference","tool_name":"weather"}]}]}`}, text: "weather", dropped: []string{"tool_reference"}},
			{turns: []string{`{"role":"user","content":[{"type":"search_result","source":"https://a.example","title":"T","content":[{"type":"text","text":"as was found"}]}]}`}, text: "as was found", dropped: []string{"search_result"}},
		},
		harness.GenerateContent: {
			{turns: []string{`{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"print(6*7)"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"forty-two"}}]}`}, text: "forty-two", dropped: []string{"executableCode", "OUTCOME_OK"}},
		},
		harness.Interactions: {
			{turns: []string{`{"type":"code_execution_call","id":"c1","arguments":{"language":"python","code":"print(6*7)"}},{"type":"code_execution_result","call_id":"c1","result":"forty-two"}`}, text: "hi", dropped: []string{"code_execution", "print"}},
		},
	}
}

func vendorHistory(t *testing.T) {
	for p, list := range histories() {
		for _, h := range list {
			everyWay(t, only(p), others(p), func(t *testing.T, w way) {
				body := requests.Body(p, nil, append(append([]string{requests.User(p, "hi")}, h.turns...), requests.User(p, "and then?"))...)
				w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
				a := w.ask(body)
				if a.Status != http.StatusOK {
					t.Fatalf("status %d: %s", a.Status, a.Body)
				}
				seen := string(w.Upstream(w.upstream).Last(t).Body)
				if !strings.Contains(seen, h.text) || !strings.Contains(seen, "and then?") {
					t.Errorf("%q is not in %s", h.text, seen)
				}
				for _, dropped := range h.dropped {
					if strings.Contains(seen, dropped) {
						t.Errorf("%q is in %s", dropped, seen)
					}
				}
				if lost := a.Header.Get("X-Genway-Lost"); !w.streamed && lost == "" {
					t.Error("nothing is named as lost")
				}
				strict := way{Gateway: harness.New(t, harness.Config{Wrap: strictly}), caller: p, upstream: w.upstream, streamed: w.streamed}
				if a := strict.ask(body); a.Status != http.StatusBadRequest || len(strict.Upstream(w.upstream).Requests()) != 0 {
					t.Errorf("strict: status %d: %s", a.Status, a.Body)
				}
			})
		}
	}
	// What is the conversation itself, and unreadable to all but its vendor, is refused.
	everyWay(t, only(harness.Responses), others(harness.Responses), func(t *testing.T, w way) {
		a := w.ask(`{"input":[{"type":"compaction","encrypted_content":"gAAA"},{"role":"user","content":"go on"}]}`)
		if a.Status != http.StatusBadRequest || len(w.Upstream(w.upstream).Requests()) != 0 {
			t.Errorf("status %d: %s", a.Status, a.Body)
		}
	})
	// A prediction is a hint.
	everyWay(t, only(harness.Chat), others(harness.Chat), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
		a := w.ask(`{"messages":[{"role":"user","content":"hi"}],"prediction":{"type":"content","content":"hello"}}`)
		if lost := a.Header.Get("X-Genway-Lost"); a.Status != http.StatusOK || !w.streamed && !strings.Contains(lost, "prediction") {
			t.Errorf("status %d, lost %q: %s", a.Status, lost, a.Body)
		}
	})
}

func offeredTools(t *testing.T) {
	single := map[harness.Protocol]string{
		harness.Chat:            `"tools":[{"type":"code_of_tomorrow","x":1}]`,
		harness.Responses:       `"tools":[{"type":"web_search"}]`,
		harness.Messages:        `"tools":[{"type":"web_search_20250305","name":"web_search"}]`,
		harness.GenerateContent: `"tools":[{"googleSearch":{}}]`,
		harness.Interactions:    `"tools":[{"type":"google_search"}]`,
	}
	demanded := map[harness.Protocol]string{
		harness.Chat:            `"tool_choice":{"type":"code_of_tomorrow"}`,
		harness.Responses:       `"tool_choice":{"type":"web_search"}`,
		harness.Messages:        `"tool_choice":{"type":"tool","name":"web_search"}`,
		harness.GenerateContent: `"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`,
		harness.Interactions:    `"generation_config":{"tool_choice":"any"}`,
	}
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		// Offered beside a function, with any choice that does not demand it.
		for _, choice := range []string{"", "auto", "none", "any", "a"} {
			members := []string{hosted[w.caller].tools}
			if choice != "" {
				members = append(members, requests.Choice(w.caller, choice))
			}
			w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
			a := w.ask(requests.Body(w.caller, members, requests.User(w.caller, "hi")))
			if a.Status != http.StatusOK {
				t.Fatalf("choice %q: status %d: %s", choice, a.Status, a.Body)
			}
			seen := string(w.Upstream(w.upstream).Last(t).Body)
			if strings.Contains(seen, "search") || strings.Contains(seen, "Search") || strings.Contains(seen, "tomorrow") || !strings.Contains(seen, `"name":"a"`) {
				t.Errorf("choice %q: the upstream sees %s", choice, seen)
			}
			if lost := a.Header.Get("X-Genway-Lost"); !w.streamed && !strings.Contains(lost, "tools") {
				t.Errorf("choice %q: lost %q", choice, lost)
			}
		}
		// It is the only tool: there is nothing left to choose from.
		w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
		a := w.ask(requests.Body(w.caller, []string{single[w.caller], requests.Choice(w.caller, "auto")}, requests.User(w.caller, "hi")))
		if a.Status != http.StatusOK {
			t.Fatalf("alone: status %d: %s", a.Status, a.Body)
		}
		for _, name := range []string{"tools", "tool_choice", "toolConfig", "generation_config.tool_choice", "parallel_tool_calls"} {
			parse(t, w.Upstream(w.upstream).Last(t).Body).At(name).Absent(t)
		}
		asked := len(w.Upstream(w.upstream).Requests())
		// Demanded.
		for _, choice := range []string{demanded[w.caller], requests.Choice(w.caller, "any")} {
			a := w.ask(requests.Body(w.caller, []string{single[w.caller], choice}, requests.User(w.caller, "hi")))
			if message := errorMessage(w.caller, a); a.Status != http.StatusBadRequest || !strings.Contains(message, "tool") {
				t.Errorf("%s: status %d: %s", choice, a.Status, a.Body)
			}
		}
		if n := len(w.Upstream(w.upstream).Requests()); n != asked {
			t.Errorf("the upstream was asked %d times more", n-asked)
		}
	})
}

// ownNamespaces: the vendor says the name of a tool that was loaded late as its namespace
// as well.
func ownNamespaces(t *testing.T) {
	const lookup = `{"type":"function","name":"lookup","parameters":{"type":"object"},"strict":false}`
	call := `{"type":"function_call","call_id":"c1","namespace":"lookup","name":"lookup","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"sun"}`
	for name, body := range map[string]string{
		"tools":            `{"input":[{"role":"user","content":"hi"},` + call + `],"tools":[` + lookup + `]}`,
		"additional_tools": `{"input":[{"type":"additional_tools","role":"developer","tools":[` + lookup + `]},{"role":"user","content":"hi"},` + call + `]}`,
		"no tools":         `{"input":[{"role":"user","content":"hi"},` + call + `]}`,
	} {
		everyWay(t, only(harness.Responses), others(harness.Responses), func(t *testing.T, w way) {
			seen := string(w.sees(t, body).Raw)
			if strings.Contains(seen, "lookup_") || !strings.Contains(seen, `"name":"lookup"`) {
				t.Errorf("%s: the upstream sees %s", name, seen)
			}
		})
	}
	// A namespace that has a tool of its own name stays one.
	spaced := `{"input":[{"role":"user","content":"hi"},` + call + `],"tools":[{"type":"namespace","name":"lookup","description":"d","tools":[` + lookup + `]}]}`
	everyWay(t, only(harness.Responses), others(harness.Responses), func(t *testing.T, w way) {
		if seen := string(w.sees(t, spaced).Raw); strings.Count(seen, `"lookup__lookup"`) < 2 || strings.Contains(seen, `"name":"lookup"`) {
			t.Errorf("the upstream sees %s", seen)
		}
	})
	// What such an upstream calls is what the caller has offered.
	for _, caller := range others(harness.Responses) {
		for _, streamed := range []bool{false, true} {
			w := way{Gateway: harness.New(t, harness.Config{}), caller: caller, upstream: harness.Responses, streamed: streamed}
			w.Responses.Answer(w.altered(answers.Tool("call_1", "weather", paris), `"name":"weather"`, `"namespace":"weather","name":"weather"`))
			a := w.ask(requests.Body(caller, []string{requests.Tools(caller, false, weather)}, requests.User(caller, "hi")))
			calls(t, transcript.Read(t, caller, a, streamed), transcript.Call{ID: "call_1", Name: "weather", Arguments: paris})
		}
	}
}

func namedOneByOne(t *testing.T) {
	everyWay(t, only(harness.GenerateContent), others(harness.GenerateContent), func(t *testing.T, w way) {
		lost := w.lost(t, `{"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a"},{"name":"b"}]},{"googleSearch":{}}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["a"]}}}`)
		if !w.streamed && !strings.Contains(lost, "tools[1]") {
			t.Errorf("lost %q", lost)
		}
	})
	everyWay(t, only(harness.Chat), only(harness.Messages), func(t *testing.T, w way) {
		schema := func(members string) string {
			return `{"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{` + members + `"schema":{"type":"object"}}}}`
		}
		if lost := w.lost(t, schema(`"name":"n","description":"d",`)); !w.streamed && (!strings.Contains(lost, ".name") || !strings.Contains(lost, ".description")) {
			t.Errorf("lost %q", lost)
		}
		if lost := w.lost(t, schema(`"name":"n",`)); strings.Contains(lost, "description") {
			t.Errorf("lost %q without a description", lost)
		}
	})
	// The sandbox's drawings.
	box := harness.New(t, harness.Config{Wrap: func(upstream.Upstream) upstream.Upstream {
		embedded := sandbox.New(sandbox.Config{})
		return embedded
	}})
	a := box.Post(harness.Images, "sandbox-image", `{"prompt":"a square","size":"256x256","x_unknown":1,"moderation":"low"}`)
	for _, name := range []string{"x_unknown", "moderation"} {
		if lost := a.Header.Get("X-Genway-Lost"); a.Status != http.StatusOK || !strings.Contains(lost, name) {
			t.Errorf("status %d, lost %q, want %s", a.Status, lost, name)
		}
	}
}

func unlimited(t *testing.T) {
	for model, most := range map[string]int64{"claude-3-haiku-20240307": 4096, "claude-3-5-sonnet-latest": 8192, "claude-opus-4-1": 32000, "claude-sonnet-4-5": 64000, "claude-opus-4-6": 128000, "m": 8192} {
		for _, caller := range others(harness.Messages) {
			g := harness.New(t, harness.Config{Wrap: strictly})
			g.Messages.Answer(answers.Text("fine").Answer(harness.Messages, false))
			if a := g.Post(caller, "messages/"+model, caller.Hello()); a.Status != http.StatusOK || a.Header.Get("X-Genway-Lost") != "" {
				t.Fatalf("%s from %s, strict: %d, lost %q: %s", model, caller, a.Status, a.Header.Get("X-Genway-Lost"), a.Body)
			}
			if n := parse(t, g.Messages.Last(t).Body).At("max_tokens").Int(); n != most {
				t.Errorf("%s from %s: max_tokens %d, want %d", model, caller, n, most)
			}
		}
	}
}

// callerTools are tools that the caller runs and whose schemas its vendor fixes.
func callerTools(t *testing.T) {
	// Those of messages are called by name there, too.
	everyWay(t, only(harness.Messages), others(harness.Messages), func(t *testing.T, w way) {
		body := requests.Body(harness.Messages, []string{`"tools":[{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"str_replace_based_edit_tool"},{"type":"memory_20250818","name":"memory"}],"tool_choice":{"type":"tool","name":"bash"}`},
			requests.User(harness.Messages, "hi"), requests.Call(harness.Messages, [3]string{"c1", "bash", `{"command":"ls"}`}), requests.Result(harness.Messages, "c1", "bash", "main.go"))
		w.Upstream(w.upstream).Answer(answers.Tool("call_2", "str_replace_based_edit_tool", `{"command":"view","path":"main.go"}`).Answer(w.upstream, w.streamed))
		a := w.ask(body)
		if lost := a.Header.Get("X-Genway-Lost"); a.Status != http.StatusOK || lost != "" {
			t.Fatalf("status %d, lost %q: %s", a.Status, lost, a.Body)
		}
		seen := string(w.Upstream(w.upstream).Last(t).Body)
		for _, part := range []string{`"name":"bash"`, `"name":"str_replace_based_edit_tool"`, `"name":"memory"`, `"insert_text"`, `"restart"`, `"old_path"`, "main.go"} {
			if !strings.Contains(seen, part) {
				t.Errorf("no %s in %s", part, seen)
			}
		}
		calls(t, transcript.Read(t, w.caller, a, w.streamed), transcript.Call{ID: "call_2", Name: "str_replace_based_edit_tool", Arguments: `{"command":"view","path":"main.go"}`})
	})
	// Those of responses have items of their own.
	const patch, run, exec = `{"type":"update_file","path":"a.go","diff":"@@\n-a\n+b"}`, `{"commands":["ls"],"timeout_ms":null,"max_output_length":null}`, `{"command":["ls","-l"],"type":"exec","env":{}}`
	const tools = `"tools":[{"type":"apply_patch"},{"type":"shell","environment":{"type":"local","skills":[{"name":"draw","path":"/skills/draw","description":"Draws."}]}},{"type":"local_shell"}]`
	history := []string{
		requests.User(harness.Responses, "hi"),
		`{"type":"apply_patch_call","id":"apc_1","call_id":"c1","status":"completed","operation":{"type":"delete_file","path":"old.go"}}`,
		`{"type":"apply_patch_call_output","call_id":"c1","status":"completed","output":"there is none"}`,
		`{"type":"shell_call","id":"sh_1","call_id":"c2","status":"completed","action":{"commands":["pwd"],"timeout_ms":9,"max_output_length":null},"environment":{"type":"local"}}`,
		`{"type":"shell_call_output","call_id":"c2","output":[{"stdout":"/work","stderr":"","outcome":{"type":"exit","exit_code":0}}]}`,
		`{"type":"local_shell_call","id":"lsh_1","call_id":"c3","status":"completed","action":{"type":"exec","command":["date"],"env":{}}}`,
		`{"type":"local_shell_call_output","id":"c3","output":"Friday"}`,
	}
	for name, tool := range map[string]struct{ kind, member, arguments, want string }{
		"apply_patch": {"apply_patch_call", "operation", patch, patch},
		"shell":       {"shell_call", "action", `{"commands":["ls"]}`, run},
		"local_shell": {"local_shell_call", "action", `{"command":["ls","-l"]}`, exec},
	} {
		everyWay(t, only(harness.Responses), others(harness.Responses), func(t *testing.T, w way) {
			w.Upstream(w.upstream).Answer(answers.Tool("call_2", name, tool.arguments).Answer(w.upstream, w.streamed))
			a := w.ask(requests.Body(harness.Responses, []string{tools, `"tool_choice":{"type":"shell"}`}, history...))
			if lost := a.Header.Get("X-Genway-Lost"); a.Status != http.StatusOK || lost != "" {
				t.Fatalf("status %d, lost %q: %s", a.Status, lost, a.Body)
			}
			seen := string(w.Upstream(w.upstream).Last(t).Body)
			for _, part := range []string{`"name":"apply_patch"`, `"name":"shell"`, `"name":"local_shell"`, "/skills/draw", "old.go", "there is none", "pwd", "/work", "exit_code", "date", "Friday"} {
				if !strings.Contains(seen, part) {
					t.Errorf("no %s in %s", part, seen)
				}
			}
			if strings.Contains(seen, "_call_output") || strings.Contains(seen, `"lsh_1"`) {
				t.Errorf("the upstream sees %s", seen)
			}
			item := finishedItem(t, a, w.streamed)
			item.At("type").Is(t, `"`+tool.kind+`"`)
			item.At("call_id").Is(t, `"call_2"`)
			item.At("status").Is(t, `"completed"`)
			if got := item.At(tool.member); !same(got.Raw, tool.want) {
				t.Errorf("%s is %s, want %s", tool.member, got.Raw, tool.want)
			}
			// The item comes back with the next request, and so it does to an upstream of its own protocol, without our identifier.
			output := map[string]string{"apply_patch": `"status":"completed"`, "shell": `"output":[]`, "local_shell": `"output":"x","id":"call_2"`}[name]
			next := append(slices.Clone(history), string(item.Raw), `{"type":"`+tool.kind+`_output","call_id":"call_2",`+output+`}`)
			if again := string(w.sees(t, requests.Body(harness.Responses, []string{tools}, next...)).Raw); !strings.Contains(again, "call_2") {
				t.Errorf("the call does not come back: %s", again)
			}
			w.upstream = harness.Responses
			if own := string(w.sees(t, requests.Body(harness.Responses, []string{tools}, next...)).Raw); strings.Contains(own, "_gw") || !strings.Contains(own, `"`+tool.kind+`"`) {
				t.Errorf("its own protocol sees %s", own)
			}
		})
	}
	// A shell in a container of the vendor is not the caller's.
	everyWay(t, only(harness.Responses), others(harness.Responses), func(t *testing.T, w way) {
		if lost := w.lost(t, `{"input":"hi","tools":[{"type":"shell","environment":{"type":"container_auto"}}]}`); !w.streamed && !strings.Contains(lost, "tools[0]") {
			t.Errorf("lost %q", lost)
		}
	})
}

// finishedItem returns the only item of an answer's output.
func finishedItem(t *testing.T, a harness.Answer, streamed bool) probeValue {
	t.Helper()
	if !streamed {
		return a.JSON().At("output[0]")
	}
	frames := a.Frames()
	last := frames[len(frames)-1].JSON().At("response.output[0]")
	for _, f := range frames {
		if f.Event == "response.output_item.done" && !same(f.JSON().At("item").Raw, string(last.Raw)) {
			t.Errorf("the item is %s, at the end %s", f.Data, last.Raw)
		}
	}
	return last
}

// same reports whether two documents say the same.
func same(got []byte, want string) bool {
	var a, b any
	return json.Unmarshal(got, &a) == nil && json.Unmarshal([]byte(want), &b) == nil && reflect.DeepEqual(a, b)
}

// deferredTools are loaded once a result of the caller's own search refers to them.
func deferredTools(t *testing.T) {
	const tools = `"tools":[{"name":"ToolSearch","input_schema":{"type":"object"}},{"name":"found","input_schema":{"type":"object"},"defer_loading":true},{"name":"DeferredToolPlaceholder","input_schema":{"type":"object"},"defer_loading":true}]`
	const found = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"ToolSearch","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_reference","tool_name":"found"}]}]}`
	everyWay(t, only(harness.Messages), others(harness.Messages), func(t *testing.T, w way) {
		body := requests.Body(w.caller, []string{tools}, requests.User(w.caller, "hi"))
		if lost := w.lost(t, body); strings.Contains(lost, "tools") {
			t.Errorf("lost %q", lost)
		}
		if seen := string(w.Upstream(w.upstream).Last(t).Body); !strings.Contains(seen, `"name":"ToolSearch"`) || strings.Contains(seen, "Placeholder") || strings.Contains(seen, `"name":"found"`) {
			t.Errorf("before the search the upstream sees %s", seen)
		}
		if lost := w.lost(t, requests.Body(w.caller, []string{tools}, requests.User(w.caller, "hi"), found)); strings.Contains(lost, "tools") {
			t.Errorf("lost %q", lost)
		}
		if seen := string(w.Upstream(w.upstream).Last(t).Body); !strings.Contains(seen, `"name":"found"`) || strings.Contains(seen, "Placeholder") {
			t.Errorf("after the search the upstream sees %s", seen)
		}
		// The vendor's own search finds nothing here: what it would have found is offered.
		hosted := strings.Replace(tools, `"tools":[`, `"tools":[{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"},`, 1)
		if seen := string(w.sees(t, requests.Body(w.caller, []string{hosted}, requests.User(w.caller, "hi"))).Raw); !strings.Contains(seen, `"name":"found"`) {
			t.Errorf("with the vendor's search the upstream sees %s", seen)
		}
		// Nothing is left to offer, and a choice names one that is not loaded.
		alone := `"tools":[{"name":"found","input_schema":{"type":"object"},"defer_loading":true}]`
		parse(t, w.sees(t, requests.Body(w.caller, []string{alone, `"tool_choice":{"type":"auto"}`}, requests.User(w.caller, "hi"))).Raw).At("tools").Absent(t)
		if seen := string(w.sees(t, requests.Body(w.caller, []string{alone, requests.Choice(w.caller, "found")}, requests.User(w.caller, "hi"))).Raw); !strings.Contains(seen, `"name":"found"`) {
			t.Errorf("chosen, the upstream sees %s", seen)
		}
	})
}

// billingLines are for the vendor of messages alone.
func billingLines(t *testing.T) {
	const line = "x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli; cch=71fea;"
	for _, system := range []string{`[{"type":"text","text":"` + line + `"},{"type":"text","text":"Be brief."}]`, `"` + line + `\nBe brief."`} {
		everyWay(t, only(harness.Messages), harness.Texts(), func(t *testing.T, w way) {
			body := requests.Body(w.caller, []string{`"system":` + system}, requests.User(w.caller, "hi"))
			if lost := w.lost(t, body); lost != "" {
				t.Errorf("lost %q", lost)
			}
			seen := string(w.Upstream(w.upstream).Last(t).Body)
			if strings.Contains(seen, "billing") != (w.upstream == harness.Messages) || !strings.Contains(seen, "Be brief.") {
				t.Errorf("the upstream sees %s", seen)
			}
		})
	}
	// Said by the user, and alone, it is not more than it is.
	everyWay(t, only(harness.Messages), others(harness.Messages), func(t *testing.T, w way) {
		if seen := string(w.sees(t, requests.Body(w.caller, []string{`"system":"` + line + `"`}, requests.User(w.caller, line))).Raw); strings.Count(seen, "billing") != 1 {
			t.Errorf("the upstream sees %s", seen)
		}
	})
}

// changedSettings are said in the conversation.
func changedSettings(t *testing.T) {
	efforts := map[harness.Protocol]string{harness.Chat: "reasoning_effort", harness.Responses: "reasoning.effort", harness.Messages: "output_config.effort", harness.GenerateContent: "generationConfig.thinkingConfig.thinkingLevel", harness.Interactions: "generation_config.thinking_level"}
	said := map[harness.Protocol]string{
		harness.Responses: `{"input":[{"role":"user","content":"hi"},{"type":"configuration_update","reasoning":{"effort":"high"}},{"role":"user","content":"go"},{"type":"configuration_update","reasoning":{"effort":"low"}}]}`,
		harness.Messages:  `{"max_tokens":9000,"tools":[{"name":"old","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hi"},{"role":"system","output_config":{"effort":"low"},"content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"old"}},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"new","input_schema":{"type":"object"}}}}]}]}`,
	}
	for caller, body := range said {
		everyWay(t, only(caller), others(caller), func(t *testing.T, w way) {
			if lost := w.lost(t, body); strings.Contains(lost, "input") || strings.Contains(lost, "messages[") {
				t.Errorf("lost %q", lost)
			}
			seen := parse(t, w.Upstream(w.upstream).Last(t).Body)
			if got := seen.At(efforts[w.upstream]).Text(); !strings.EqualFold(got, "low") {
				t.Errorf("the effort is %q: %s", got, seen.Raw)
			}
			if caller == harness.Messages && (!strings.Contains(string(seen.Raw), `"name":"new"`) || strings.Contains(string(seen.Raw), `"name":"old"`)) {
				t.Errorf("the upstream sees %s", seen.Raw)
			}
		})
	}
	// An ordinary answer in place of a summary would be another thing.
	everyWay(t, only(harness.Messages), others(harness.Messages), func(t *testing.T, w way) {
		a := w.ask(requests.Body(w.caller, []string{`"compaction":{"type":"summarize"}`}, requests.User(w.caller, "hi")))
		if message := errorMessage(w.caller, a); a.Status != http.StatusBadRequest || !strings.Contains(message, "compaction") || len(w.Upstream(w.upstream).Requests()) != 0 {
			t.Errorf("status %d: %s", a.Status, a.Body)
		}
	})
}
