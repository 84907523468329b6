package cases_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
)

// vendorRuleCases are the cases of what one vendor takes and another is documented to
// reject.
func vendorRuleCases() []Case {
	return []Case{
		{"X22", "names of tools fit the upstream's rules; the caller sees its own again, unary and streamed, in choices and history", toolNames},
		{"X24", "a responses upstream is asked for reasoning that the caller can bring back: sealed, and told as a summary", reasoningIsAsked},
		{"X50", "cache: auto ends the tools and the last turns of translated requests to messages with breakpoints, at Bedrock and Vertex AI too; a caller's own are the only ones, and bodies of messages pass as they are", cachedPrefixes},
		{"X23", "texts and stop sequences that the target's vendor rejects are left out and named, or refused by name", blankTexts},
		{"X33", "schemas of answers and of strict tools are what the upstream's vendor takes: closed for messages, with its other constraints in the description, and not strict for OpenAI where its strict mode takes them not", vendorSchemas},
		{"X34", "each call is sent with one result right behind it, under an identifier that the upstream's vendor takes; results without a call are sent as their text, and calls without a result with one that says so", vendorTurns},
		{"X35", "settings are within the bounds of the upstream's vendor: a limit of tokens is raised, long identifiers are hashed, and JSON is asked for in words where it must be", vendorBounds},
	}
}

// nameRules are what each vendor documents of the names of functions.
var nameRules = map[harness.Protocol]*regexp.Regexp{
	harness.Chat:            regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	harness.Responses:       regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	harness.Messages:        regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`),
	harness.GenerateContent: regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`),
	harness.Interactions:    regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`),
}

// oddNames are names that some vendor takes, or some client uses.
var oddNames = []string{"get weather", "files.read", "mcp:server/tool", "1password", "-dash", "größe", "工具", strings.Repeat("long_", 20), strings.Repeat("n", 129)}

// namesIn are where requests of each protocol have the names of two tools, the demanded
// tool, the call of the history and its result.
var namesIn = map[harness.Protocol][]string{
	harness.Chat:            {"tools[0].function.name", "tools[1].function.name", "tool_choice.function.name", "messages[1].tool_calls[0].function.name"},
	harness.Responses:       {"tools[0].name", "tools[1].name", "tool_choice.name", "input[1].name"},
	harness.Messages:        {"tools[0].name", "tools[1].name", "tool_choice.name", "messages[1].content[0].name"},
	harness.GenerateContent: {"tools[0].functionDeclarations[0].name", "tools[0].functionDeclarations[1].name", "toolConfig.functionCallingConfig.allowedFunctionNames[0]", "contents[1].parts[0].functionCall.name", "contents[2].parts[0].functionResponse.name"},
	harness.Interactions:    {"tools[0].name", "tools[1].name", "generation_config.tool_choice.allowed_tools.tools[0]", "input[1].name", "input[2].name"},
}

func toolNames(t *testing.T) {
	const schema = `{"type":"object"}`
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		for _, name := range oddNames {
			// Another tool differs in only one character.
			twin := name + "!"
			body := requests.Body(w.caller, []string{requests.Tools(w.caller, false, requests.Tool{Name: name, Schema: schema}, requests.Tool{Name: twin, Schema: schema}), requests.Choice(w.caller, name)},
				requests.User(w.caller, "hi"), requests.Call(w.caller, [3]string{"call_1", name, `{}`}), requests.Result(w.caller, "call_1", name, "sun"))
			seen := w.sees(t, body)
			first := seen.At(namesIn[w.upstream][0]).Text()
			if !nameRules[w.upstream].MatchString(first) || first == seen.At(namesIn[w.upstream][1]).Text() {
				t.Errorf("%q is sent as %q, its twin as %q", name, first, seen.At(namesIn[w.upstream][1]).Text())
			}
			if nameRules[w.upstream].MatchString(name) && first != name {
				t.Errorf("%q is sent as %q without need", name, first)
			}
			for _, at := range namesIn[w.upstream][2:] {
				if got := seen.At(at).Text(); got != first {
					t.Errorf("%s is %q, the tool %q", at, got, first)
				}
			}
			w.Upstream(w.upstream).Answer(answers.Tool("call_2", first, paris).Answer(w.upstream, w.streamed))
			a := w.ask(body)
			received := transcript.Read(t, w.caller, a, w.streamed)
			if len(received.Calls) != 1 || received.Calls[0].Name != name {
				t.Errorf("the caller of %q received %v: %s", name, received.Calls, a.Body)
			}
		}
	})
}

func blankTexts(t *testing.T) {
	const blank = " \n\t"
	everyWay(t, others(harness.Messages), only(harness.Messages), func(t *testing.T, w way) {
		body := requests.Body(w.caller, nil, requests.User(w.caller, "hi"), requests.User(w.caller, blank), requests.Call(w.caller, [3]string{"c1", "weather", "{}"}), requests.Result(w.caller, "c1", "weather", blank), requests.User(w.caller, "go"))
		w.Messages.Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
		a := w.ask(body)
		if a.Status != http.StatusOK {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
		if seen := string(w.Messages.Last(t).Body); strings.Contains(seen, `\n\t`) || !strings.Contains(seen, "go") {
			t.Errorf("the upstream sees %s", seen)
		}
		if lost := a.Header.Get("X-Genway-Lost"); !w.streamed && strings.Count(lost, "[") < 2 {
			t.Errorf("lost %q", lost)
		}
	})
	// The vendor refuses a last turn of the assistant that ends with white space.
	everyWay(t, only(harness.Chat), only(harness.Messages), func(t *testing.T, w way) {
		seen := w.sees(t, `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"The answer: "}]}`)
		seen.At("messages[1].content").Is(t, `"The answer:"`)
	})
	stops := map[harness.Protocol]string{harness.Chat: `"stop":%s`, harness.Messages: `"stop_sequences":%s`, harness.GenerateContent: `"generationConfig":{"stopSequences":%s}`, harness.Interactions: `"generation_config":{"stop_sequences":%s}`}
	sent := map[harness.Protocol]string{harness.Chat: "stop", harness.Messages: "stop_sequences", harness.GenerateContent: "generationConfig.stopSequences", harness.Interactions: "generation_config.stop_sequences"}
	everyWay(t, others(harness.Responses), only(harness.Messages), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		body := requests.Body(w.caller, []string{fmt.Sprintf(stops[w.caller], `["\n","END"," "]`)}, requests.User(w.caller, "hi"))
		if lost := w.lost(t, body); !w.streamed && (!strings.Contains(lost, "[0]") || !strings.Contains(lost, "[2]")) {
			t.Errorf("lost %q", lost)
		}
		parse(t, w.Messages.Last(t).Body).At(sent[harness.Messages]).Is(t, `["END"]`)
	})
	most := map[harness.Protocol]int{harness.Chat: 4, harness.GenerateContent: 5, harness.Interactions: 5}
	everyWay(t, others(harness.Responses), only(harness.Chat, harness.GenerateContent, harness.Interactions), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		list := `["1","2","3","4","5","6"`
		list = list[:4*most[w.upstream]]
		seen := w.sees(t, requests.Body(w.caller, []string{fmt.Sprintf(stops[w.caller], list+"]")}, requests.User(w.caller, "hi")))
		if n := len(seen.At(sent[w.upstream]).List()); n != most[w.upstream] {
			t.Errorf("%d are sent: %s", n, seen.Raw)
		}
		a := w.ask(requests.Body(w.caller, []string{fmt.Sprintf(stops[w.caller], list+`,"x"]`)}, requests.User(w.caller, "hi")))
		if a.Status != http.StatusBadRequest || !strings.Contains(errorMessage(w.caller, a), "stop") || len(w.Upstream(w.upstream).Requests()) != 1 {
			t.Errorf("status %d: %s", a.Status, a.Body)
		}
	})
}

func reasoningIsAsked(t *testing.T) {
	const include, store, summary = "include", "store", "reasoning.summary"
	thinks := map[harness.Protocol]string{
		harness.Chat:            `"reasoning_effort":"high"`,
		harness.Messages:        `"thinking":{"type":"enabled","budget_tokens":2048}`,
		harness.GenerateContent: `"generationConfig":{"thinkingConfig":{"thinkingBudget":2048,"includeThoughts":true}}`,
		harness.Interactions:    `"generation_config":{"thinking_level":"high","thinking_summaries":"auto"}`,
	}
	everyWay(t, others(harness.Responses), only(harness.Responses), func(t *testing.T, w way) {
		seen := w.sees(t, requests.Body(w.caller, []string{thinks[w.caller]}, requests.User(w.caller, "hi")))
		seen.At(include).Is(t, `["reasoning.encrypted_content"]`)
		seen.At(summary).Is(t, `"auto"`)
		seen.At(store).Is(t, "false")
		// The answer is repeated in the next request.
		said := answers.Think(thought, signature).Then(answers.Text("hello"))
		w.Responses.Answer(said.Answer(w.upstream, w.streamed))
		received := transcript.Read(t, w.caller, w.ask(requests.Body(w.caller, []string{thinks[w.caller]}, requests.User(w.caller, "hi"))), w.streamed)
		if received.Thinking != thought || len(received.Signatures) != 1 {
			t.Fatalf("received %+v", received)
		}
		seen = w.sees(t, requests.Body(w.caller, nil, requests.User(w.caller, "hi"), received.Echo, requests.User(w.caller, "and?")))
		count(t, seen, signature, 1)
		seen.At(include).Is(t, `["reasoning.encrypted_content"]`)
	})
	// A model that is not known to reason, and is not asked to, may refuse to be asked.
	everyWay(t, others(harness.Responses), only(harness.Responses), func(t *testing.T, w way) {
		for _, member := range []string{include, store, "reasoning"} {
			w.sees(t, w.caller.Hello()).At(member).Absent(t)
		}
	})
	// One that always reasons is asked.
	for _, caller := range others(harness.Responses) {
		for model, reasons := range map[string]bool{"gpt-5.1": true, "o4-mini": true, "gpt-5-codex": true, "gpt-4o": false, "gpt-5-chat-latest": false, "gpt-oss": false} {
			g := harness.New(t, harness.Config{})
			g.Responses.Answer(answers.Text("fine").Answer(harness.Responses, false))
			g.Post(caller, "responses/"+model, caller.Hello())
			if seen := parse(t, g.Responses.Last(t).Body); (string(seen.At(include).Raw) != "") != reasons || string(seen.At(summary).Raw) != "" {
				t.Errorf("%s: %s", model, seen.Raw)
			}
		}
	}
	// Neither is one whose thinking the caller turns off, nor are thoughts told that the
	// caller declines.
	w := way{Gateway: harness.New(t, harness.Config{}), caller: harness.Chat, upstream: harness.Responses}
	w.sees(t, `{"messages":[{"role":"user","content":"hi"}],"reasoning_effort":"none"}`).At(include).Absent(t)
	w.caller = harness.Messages
	seen := w.sees(t, `{"max_tokens":4096,"messages":[{"role":"user","content":"hi"}],"thinking":{"type":"adaptive","display":"omitted"}}`)
	seen.At(include).Is(t, `["reasoning.encrypted_content"]`)
	seen.At(summary).Absent(t)
	// A caller of responses says it itself.
	w.caller = harness.Responses
	w.sees(t, `{"input":"hi","reasoning":{"effort":"high"}}`).At(include).Absent(t)
}

// cachedPrefixes asks at the vendor itself and at the clouds, whose bodies are of another form.
func cachedPrefixes(t *testing.T) {
	const breakpoint = `{"type":"ephemeral"}`
	for name, upstreams := range map[string]string{
		"anthropic": `{kind: messages, base_url: "http://127.0.0.1/v1"}`,
		"bedrock":   `{kind: messages, provider: bedrock, endpoint: invoke, region: us-east-1, api_key: k}`,
		"vertex":    `{kind: messages, provider: vertex, project: p, region: global, api_key: k}`,
	} {
		c, err := config.Parse("f", []byte("upstreams:\n  claude: "+upstreams+"\nroutes: [{model: '*', targets: [{upstream: claude, cache: auto}]}]\n"), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		for _, caller := range harness.Texts() {
			t.Run(string(caller)+" to "+name, func(t *testing.T) {
				g := harness.New(t, harness.Config{Remote: place(t, c.Upstreams["claude"]), Wrap: func(all upstream.Upstream) upstream.Upstream {
					return route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "claude", Upstream: all, Protocol: harness.Messages.ID(), Model: "messages/m",
						Cache: c.Routes[0].Targets[0].Cache == config.CacheAuto}}}})
				}})
				g.Messages.Answer(answers.Text("fine").Answer(harness.Messages, false))
				a := g.Post(caller, "m", requests.Body(caller, []string{requests.Tools(caller, false, weather)},
					requests.User(caller, "hi"), requests.Call(caller, [3]string{"c1", "weather", "{}"}), requests.Result(caller, "c1", "weather", "sun")))
				seen := parse(t, g.Messages.Last(t).Body)
				if lost := a.Header.Get("X-Genway-Lost"); a.Status != http.StatusOK || strings.Contains(lost, "cache") {
					t.Fatalf("status %d, lost %q: %s", a.Status, lost, a.Body)
				}
				if caller == harness.Messages {
					if strings.Contains(string(seen.Raw), "cache_control") {
						t.Errorf("the caller's body became %s", seen.Raw)
					}
					return
				}
				for _, at := range []string{"tools[0]", "messages[0].content[0]", "messages[2].content[0]"} {
					seen.At(at+".cache_control").Is(t, breakpoint)
				}
				if n := strings.Count(string(seen.Raw), "cache_control"); n != 3 {
					t.Errorf("%d breakpoints: %s", n, seen.Raw)
				}
			})
		}
	}
}

// formats are how callers of each protocol ask for an answer of a schema.
var formats = map[harness.Protocol]string{
	harness.Chat:            `"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":%s}}`,
	harness.Responses:       `"text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":%s}}`,
	harness.Messages:        `"output_config":{"format":{"type":"json_schema","schema":%s}}`,
	harness.GenerateContent: `"generationConfig":{"responseMimeType":"application/json","responseSchema":%s}`,
	harness.Interactions:    `"response_format":{"type":"text","mime_type":"application/json","schema":%s}`,
}

func vendorSchemas(t *testing.T) {
	const constrained = `{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`
	everyWay(t, others(harness.Messages), only(harness.Messages), func(t *testing.T, w way) {
		const closed = `{"type":"object","properties":{"n":{"type":"integer","description":"{minimum: 1}"}},"required":["n"],"additionalProperties":false}`
		body := requests.Body(w.caller, []string{fmt.Sprintf(formats[w.caller], constrained), requests.Tools(w.caller, true, requests.Tool{Name: "a", Description: "d", Schema: constrained}, requests.Tool{Name: "b", Description: "d", Schema: `{}`})}, requests.User(w.caller, "hi"))
		seen := w.sees(t, body)
		seen.At("output_config.format.schema").Is(t, closed)
		want := closed
		if w.caller == harness.GenerateContent || w.caller == harness.Interactions { // which has no strict tools
			want = constrained
		}
		seen.At("tools[0].input_schema").Is(t, want)
		if seen.At("tools[1].input_schema.type").Text() != "object" {
			t.Errorf("a tool of any parameters is %s", seen.At("tools[1]").Raw)
		}
	})
	everyWay(t, harness.Texts(), only(harness.Chat, harness.Responses), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		format, tool := "response_format.json_schema.strict", "tools[0].function.strict"
		if w.upstream == harness.Responses {
			format, tool = "text.format.strict", "tools[0].strict"
		}
		for schema, fits := range map[string]bool{constrained: false, strings.Replace(constrained, `"required"`, `"additionalProperties":false,"required"`, 1): true} {
			body := requests.Body(w.caller, []string{fmt.Sprintf(formats[w.caller], schema), requests.Tools(w.caller, true, requests.Tool{Name: "a", Description: "d", Schema: schema})}, requests.User(w.caller, "hi"))
			seen := w.sees(t, body)
			if strict := string(seen.At(format).Raw); fits && strict == "false" || !fits && strict != "false" {
				t.Errorf("the format of %s is strict: %q", schema, strict)
			}
			if strict := string(seen.At(tool).Raw); w.caller != harness.GenerateContent && w.caller != harness.Interactions && (strict == "true") != fits {
				t.Errorf("the tool of %s is strict: %q", schema, strict)
			}
		}
	})
	// Vertex AI's numbers are types.
	w := way{Gateway: harness.New(t, harness.Config{}), caller: harness.GenerateContent, upstream: harness.Messages}
	seen := w.sees(t, requests.Body(w.caller, []string{fmt.Sprintf(formats[w.caller], `{"type":6,"properties":{"a":{"type":1,"nullable":true}}}`)}, requests.User(w.caller, "hi")))
	seen.At("output_config.format.schema").Is(t, `{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false}`)
}

// identifiersIn are where requests have the identifiers of a call and of its result.
var identifiersIn = map[harness.Protocol][2]string{
	harness.Chat:         {"messages[1].tool_calls[0].id", "messages[2].tool_call_id"},
	harness.Responses:    {"input[1].call_id", "input[2].call_id"},
	harness.Messages:     {"messages[1].content[0].id", "messages[2].content[0].tool_use_id"},
	harness.Interactions: {"input[1].id", "input[2].call_id"},
}

func vendorTurns(t *testing.T) {
	everyWay(t, harness.Texts(), others(harness.GenerateContent), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		for _, id := range []string{strings.Repeat("long_", 20), "functions.weather:0", "call_1"} {
			seen := w.sees(t, requests.Body(w.caller, nil, requests.User(w.caller, "hi"), requests.Call(w.caller, [3]string{id, "weather", paris}), requests.Result(w.caller, id, "weather", "sun")))
			call, result := seen.At(identifiersIn[w.upstream][0]).Text(), seen.At(identifiersIn[w.upstream][1]).Text()
			if most := map[harness.Protocol]int{harness.Chat: 40, harness.Responses: 64, harness.Messages: 1000, harness.Interactions: 1000}[w.upstream]; call == "" || call != result || len(call) > most {
				t.Errorf("%q is sent as %q and %q", id, call, result)
			}
		}
	})
	everyWay(t, others(harness.GenerateContent), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		orphan := requests.Body(w.caller, nil, requests.User(w.caller, "hi"), requests.Result(w.caller, "call_9", "weather", "rain"))
		if lost := w.lost(t, orphan); !w.streamed && lost == "" {
			t.Error("nothing is named")
		}
		if seen := string(w.Upstream(w.upstream).Last(t).Body); !strings.Contains(seen, "rain") || strings.Contains(seen, "call_9") {
			t.Errorf("a result without its call: %s", seen)
		}
		twice := requests.Body(w.caller, nil, requests.User(w.caller, "hi"), requests.Call(w.caller, [3]string{"call_1", "weather", paris}), requests.Result(w.caller, "call_1", "weather", "sun"), requests.Result(w.caller, "call_1", "weather", "rain"), requests.User(w.caller, "go"))
		if seen := string(w.sees(t, twice).Raw); strings.Count(seen, "rain") != 1 || strings.Count(seen, "sun") != 1 || strings.Count(seen, `"call_1"`) > 2 {
			t.Errorf("two results: %s", seen)
		}
		open := requests.Body(w.caller, nil, requests.User(w.caller, "hi"), requests.Call(w.caller, [3]string{"call_1", "weather", paris}, [3]string{"call_2", "time", "{}"}), requests.Result(w.caller, "call_2", "time", "noon"))
		if seen := string(w.sees(t, open).Raw); !strings.Contains(seen, "no result") {
			t.Errorf("a call without a result: %s", seen)
		}
	})
}

func vendorBounds(t *testing.T) {
	limits := map[harness.Protocol]string{harness.Chat: `"max_tokens":1`, harness.Messages: `"max_tokens":1`, harness.GenerateContent: `"generationConfig":{"maxOutputTokens":1}`, harness.Interactions: `"generation_config":{"max_output_tokens":1}`}
	everyWay(t, others(harness.Responses), only(harness.Responses), func(t *testing.T, w way) {
		body := requests.Body(w.caller, []string{limits[w.caller]}, requests.User(w.caller, "hi"))
		if w.caller == harness.Messages {
			body = `{"messages":[{"role":"user","content":"hi"}],` + limits[w.caller] + `}`
		}
		if lost := w.lost(t, body); !w.streamed && !strings.Contains(strings.ToLower(lost), "max") {
			t.Errorf("lost %q", lost)
		}
		parse(t, w.Responses.Last(t).Body).At("max_output_tokens").Is(t, "16")
	})
	everyWay(t, only(harness.GenerateContent), only(harness.Chat, harness.Responses), func(t *testing.T, w way) {
		for text, asked := range map[string]bool{"hi": false, "a Json object": true} {
			seen := string(w.sees(t, requests.Body(w.caller, []string{`"generationConfig":{"responseMimeType":"application/json"}`}, requests.User(w.caller, text))).Raw)
			if strings.Contains(seen, "JSON") == asked {
				t.Errorf("%q: %s", text, seen)
			}
		}
	})
	everyWay(t, only(harness.Chat), only(harness.Responses), func(t *testing.T, w way) {
		key := strings.Repeat("session/", 20)
		seen := w.sees(t, requests.Body(w.caller, []string{`"prompt_cache_key":"` + key + `","safety_identifier":"` + key + `"`}, requests.User(w.caller, "hi")))
		if cached := seen.At("prompt_cache_key").Text(); len(cached) != 64 || cached != seen.At("safety_identifier").Text() {
			t.Errorf("%s", seen.Raw)
		}
	})
}
