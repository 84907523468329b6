package strict_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/requests"
	"github.com/genway/genway/test/cases/transcript"
	"github.com/genway/genway/test/strict"
)

// agent is a program that works by itself, with the members that it sends beside its conversation. They have the shapes of
// recorded requests, and texts of our own.
type agent struct {
	name   string
	caller harness.Protocol
	// model is the model that it asks its own vendor for.
	model   string
	members []string
}

const readFile = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"path":{"type":"string","description":"The file."},"limit":{"minimum":-9007199254740991,"exclusiveMinimum":0,"type":"integer","maximum":9007199254740991}},"required":["path"]}`

// agents are Claude Code 2.1, Codex 0.169, Gemini CLI 0.61, opencode 1.18 and pi 0.73.
var agents = []agent{
	{"claude-code", harness.Messages, claude, []string{
		`"max_tokens":32000`, `"thinking":{"budget_tokens":31999,"type":"enabled"}`, `"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"s\"}"}`,
		`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`,
		`"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli;"},{"type":"text","text":"You are an agent.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Use the tools.","cache_control":{"type":"ephemeral"}}]`,
		`"tools":[{"name":"read","description":"Reads a file.","input_schema":` + readFile + `}]`,
	}},
	{"codex", harness.Responses, "gpt-5.6", []string{
		`"instructions":"You are an agent."`, `"tool_choice":"auto"`, `"parallel_tool_calls":true`, `"reasoning":{"summary":"auto"}`, `"store":false`,
		`"include":["reasoning.encrypted_content"]`, `"prompt_cache_key":"01a1fb97-2ef7-7f70-aa69-48091bc0bad5"`, `"client_metadata":{"session_id":"s"}`,
		`"tools":[{"type":"function","name":"read","description":"Reads a file.","strict":false,"parameters":` + readFile + `},{"type":"custom","name":"apply_patch","description":"Edits files.","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}},{"type":"web_search","external_web_access":false}]`,
	}},
	{"gemini-cli", harness.GenerateContent, gemini2, []string{
		`"systemInstruction":{"parts":[{"text":"You are an agent."}],"role":"user"}`,
		`"tools":[{"functionDeclarations":[{"name":"read","description":"Reads a file.","parametersJsonSchema":` + readFile + `}]}]`,
		`"generationConfig":{"temperature":1,"topP":0.95,"topK":64,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192}}`,
	}},
	{"opencode-chat", harness.Chat, gpt, []string{
		`"max_tokens":8000`, `"tool_choice":"auto"`, `"stream_options":{"include_usage":true}`,
		`"tools":[{"type":"function","function":{"name":"read","description":"Reads a file.","parameters":` + readFile + `}}]`,
	}},
	{"opencode-responses", harness.Responses, gpt, []string{
		`"max_output_tokens":8000`, `"store":false`, `"prompt_cache_key":"ses_e046752c5ffeZDhpP47ZgtMAQq"`, `"tool_choice":"auto"`,
		`"tools":[{"type":"function","name":"read","description":"Reads a file.","strict":false,"parameters":` + readFile + `}]`,
	}},
	{"opencode-messages", harness.Messages, claude, []string{
		`"max_tokens":8000`, `"system":[{"type":"text","text":"You are an agent.","cache_control":{"type":"ephemeral"}}]`, `"tool_choice":{"type":"auto"}`,
		`"tools":[{"name":"read","description":"Reads a file.","input_schema":` + readFile + `,"eager_input_streaming":true}]`,
	}},
	{"opencode-gemini", harness.GenerateContent, gemini2, []string{
		`"systemInstruction":{"parts":[{"text":"You are an agent."}]}`, `"generationConfig":{"maxOutputTokens":8000,"topK":64,"topP":0.95}`, `"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}`,
		`"tools":[{"functionDeclarations":[{"name":"read","description":"Reads a file.","parameters":{"required":["path"],"type":"object","properties":{"path":{"type":"string"}}}}]}]`,
	}},
	{"pi-chat", harness.Chat, gpt, []string{
		`"max_completion_tokens":8000`, `"store":false`, `"stream_options":{"include_usage":true}`,
		`"tools":[{"type":"function","function":{"name":"read","description":"Reads a file.","parameters":` + readFile + `,"strict":false}}]`,
	}},
	{"pi-responses", harness.Responses, gpt, []string{
		`"max_output_tokens":8000`, `"store":false`, `"prompt_cache_key":"01a1fb9b-9ee8-7103-bacc-f2e059da0522"`,
		`"tools":[{"type":"function","name":"read","description":"Reads a file.","strict":false,"parameters":` + readFile + `}]`,
	}},
	{"pi-messages", harness.Messages, claude, []string{
		`"max_tokens":8000`, `"system":[{"type":"text","text":"You are an agent.","cache_control":{"type":"ephemeral"}}]`,
		`"tools":[{"name":"read","description":"Reads a file.","eager_input_streaming":true,"input_schema":` + readFile + `}]`,
	}},
	{"pi-gemini", harness.GenerateContent, gemini2, []string{
		`"systemInstruction":{"parts":[{"text":"You are an agent."}],"role":"user"}`, `"generationConfig":{"maxOutputTokens":8000}`,
		`"tools":[{"functionDeclarations":[{"name":"read","description":"Reads a file.","parametersJsonSchema":` + readFile + `}]}]`,
	}},
}

// generations are the models that translated requests are sent to.
var generations = map[harness.Protocol][]string{
	harness.Chat:            {gpt, gpt5, "gpt-5.6", "gpt-6.2-sol"},
	harness.Responses:       {gpt, gpt5, "gpt-5.6", "gpt-6.2-sol"},
	harness.Messages:        {claude, "claude-opus-4-6", "claude-opus-4-7", newest},
	harness.GenerateContent: {gemini2, gemini3},
}

// replies are the five turns of a model, with ids of calls as long as the protocol's vendor takes them.
func replies(p harness.Protocol) []answers.Reply {
	longest := map[harness.Protocol]int{harness.Chat: 40, harness.Responses: 64, harness.Messages: 90, harness.GenerateContent: 90}[p]
	call := func(id string) answers.Reply {
		return answers.Reply{Parts: []answers.Part{{Call: &answers.Call{ID: id, Name: "read", Arguments: `{"path":"a"}`, Signature: "c2lnbmF0dXJl"}}}}
	}
	return []answers.Reply{
		answers.Think("The file first.", "c2lnbmF0dXJl").Then(call("call_1")),
		call("call_2").Then(call("call_3")),
		answers.Text("One more.").Then(call("call_4")),
		call("call_" + letters(longest-len("call_"))),
		answers.Text("Done."),
	}
}

// Each agent works for five turns, streamed and with tools, at each kind of upstream: no vendor refuses a body.
func TestAgents(t *testing.T) {
	upstreams := map[harness.Protocol]*fake.Upstream{}
	var routes []route.Route
	for _, p := range harness.Texts() {
		upstreams[p] = fake.New(t)
		spec := protocol.ByKind(string(p))
		transport := remote.NewTransport(remote.Way{})
		t.Cleanup(transport.CloseIdleConnections)
		adapter, err := remote.New(remote.Config{Protocol: spec.ID, BaseURL: upstreams[p].URL, HTTP: transport})
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range generations[p] {
			routes = append(routes, route.Route{Model: string(p) + "--" + model, Targets: []route.Target{{Name: string(p), Upstream: adapter, Protocol: spec.ID, Model: model, Catalog: catalog.Shipped()}}})
		}
	}
	g := harness.New(t, harness.Config{Wrap: func(upstream.Upstream) upstream.Upstream { return route.New(routes) }})
	for _, a := range agents {
		for _, p := range harness.Texts() {
			models := generations[p]
			if p == a.caller {
				models = []string{a.model} // its own body, for its own model
			}
			for _, model := range models {
				t.Run(fmt.Sprintf("%s to %s of %s", a.name, model, p), func(t *testing.T) { a.work(t, g, upstreams[p], p, model) })
			}
		}
	}
}

// work has an agent work at an upstream that judges what it receives.
func (a agent) work(t *testing.T, g *harness.Gateway, u *fake.Upstream, p harness.Protocol, model string) {
	turns := []string{requests.User(a.caller, "Read the file a.")}
	for n, reply := range replies(p) {
		u.Answer(reply.Answer(p, true).If(judging(t, n)))
		body := requests.Body(a.caller, a.members, turns...)
		if a.caller == harness.Messages {
			body = strings.Replace(body, `"max_tokens":4096,`, "", 1) // the agent has its own
		}
		got := transcript.Read(t, a.caller, g.Stream(a.caller, string(p)+"--"+model, body), true)
		turns = append(turns, got.Echo)
		results := make([]string, len(got.Calls))
		for i, c := range got.Calls {
			results[i] = requests.Result(a.caller, c.ID, c.Name, "the content")
		}
		if a.caller == harness.GenerateContent { // whose clients send all results in one content
			results = []string{strings.ReplaceAll(strings.Join(results, ","), `]},{"role":"user","parts":[`, ",")}
		}
		turns = append(turns, results...)
	}
}

// judging refuses what breaks a rule.
func judging(t *testing.T, n int) func(fake.Request) (fake.Answer, bool) {
	return func(r fake.Request) (fake.Answer, bool) {
		all, answer := strict.Received("", r.Path, r.Body)
		if len(all) > 0 {
			t.Errorf("turn %d: the vendor refuses %v in %s", n+1, all, r.Body)
		}
		return fake.Refusal(http.StatusBadRequest, string(answer)), len(all) > 0
	}
}
