package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/catalog"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func TestShipped(t *testing.T) {
	c := catalog.Shipped()
	for model, want := range map[string]struct {
		refuses, thinks string
		context         int64
	}{
		"claude-opus-4-7": {"temperature top_p top_k prefill", "adaptive effort", 0},
		"claude-opus-4.7": {"temperature top_p top_k prefill", "adaptive effort", 0},
		"us.anthropic.claude-opus-4-7-20260416-v1:0":  {"temperature top_p top_k prefill", "adaptive effort", 0},
		"anthropic/claude-sonnet-5-5":                 {"temperature top_p top_k prefill forced_tool_choice", "adaptive effort", 0},
		"publishers/anthropic/models/claude-opus-5-5": {"temperature top_p top_k prefill forced_tool_choice", "adaptive effort", 0},
		"claude-opus-4@20250514":                      {"?", "budget", 200000},
		"Claude-Sonnet-4-5":                           {"?", "budget", 200000},
		"claude-3-5-haiku-latest":                     {"?", "", 200000},
		"openai/gpt-5-mini":                           {"temperature top_p frequency_penalty presence_penalty logprobs top_logprobs", "effort", 400000},
		"gpt-5-chat-latest":                           {"", "", 128000},
		"gpt-4o-2024-11-20":                           {"?", "", 128000},
		"gpt-5.5":                                     {"frequency_penalty presence_penalty", "effort", 0},
		"my-own-model":                                {"?", "?", 0},
	} {
		row := c.Find(model)
		words := func(list *[]string) string {
			if list == nil {
				return "?"
			}
			return strings.Join(*list, " ")
		}
		var context int64
		if row.Context != nil {
			context = *row.Context
		}
		if words(row.Refuses) != want.refuses || words(row.Thinking) != want.thinks || context != want.context {
			t.Errorf("%s: refuses %q, thinks %q, context %d", model, words(row.Refuses), words(row.Thinking), context)
		}
		if row.Source != "" {
			if _, err := time.Parse(time.DateOnly, row.Read); err != nil {
				t.Errorf("%s: read %q", model, row.Read)
			}
		}
	}
	if row := (*catalog.Catalog)(nil).Find("claude-opus-4-7"); row.Refuses != nil {
		t.Error("a nil catalogue knows something")
	}
}

func TestFit(t *testing.T) {
	row := func(text string) catalog.Row {
		c, err := catalog.Parse("f", []byte("models: [{model: m, "+text+"}]"))
		if err != nil {
			t.Fatal(err)
		}
		return c.Find("m")
	}
	schema := &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA}
	image := []*genwayv1.Message{{Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{}}, {Kind: &genwayv1.Part_Image{}}}}}
	file := []*genwayv1.Message{{Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_File{}}}}}
	for _, c := range []struct {
		name, row string
		in, out   *genwayv1.GenerateTextRequest
		lost      string
		refused   string
	}{
		{
			"sampling at the default", "refuses: [temperature, top_p]",
			&genwayv1.GenerateTextRequest{Sampling: &genwayv1.Sampling{Temperature: new(1.0), TopP: new(1.0), Seed: new(int64(7))}},
			&genwayv1.GenerateTextRequest{Sampling: &genwayv1.Sampling{Seed: new(int64(7))}}, "", "",
		},
		{
			"sampling", "refuses: [temperature, top_k, user]",
			&genwayv1.GenerateTextRequest{User: "u", Sampling: &genwayv1.Sampling{Temperature: new(0.5), Seed: new(int64(7))}},
			&genwayv1.GenerateTextRequest{Sampling: &genwayv1.Sampling{Seed: new(int64(7))}}, "sampling.temperature user", "",
		},
		{"nothing of it", "refuses: [temperature]", &genwayv1.GenerateTextRequest{User: "u"}, &genwayv1.GenerateTextRequest{User: "u"}, "", ""},
		{"limit", "max_output: 10", &genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(11))}, &genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(10))}, "max_output_tokens", ""},
		{"limit within", "max_output: 10", &genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(10))}, &genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(10))}, "", ""},
		{"no thinking", "thinking: []", &genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Effort: "high"}}, &genwayv1.GenerateTextRequest{}, "thinking", ""},
		{"no thinking wanted", "thinking: []", &genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Effort: "none"}}, &genwayv1.GenerateTextRequest{}, "", ""},
		{
			"budget to effort", "thinking: [adaptive, effort]", &genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ENABLED, BudgetTokens: new(int32(9000))}},
			&genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ADAPTIVE, Effort: "medium"}}, "thinking.budget_tokens", "",
		},
		{
			"effort to budget", "thinking: [budget]", &genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Effort: "medium"}},
			&genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{BudgetTokens: new(int32(8192))}}, "thinking.effort", "",
		},
		{
			"adaptive to a budget", "thinking: [budget]", &genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ADAPTIVE}},
			&genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{BudgetTokens: new(int32(8192))}}, "thinking.mode", "",
		},
		{"effort it has", "thinking: [effort]", &genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Effort: "low"}}, &genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Effort: "low"}}, "", ""},
		{"tools", "tools: false", &genwayv1.GenerateTextRequest{Tools: []*genwayv1.Tool{{}}}, nil, "", "tools"},
		{"tools not to be used", "tools: false", &genwayv1.GenerateTextRequest{Tools: []*genwayv1.Tool{{}}, ToolChoice: &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE}}, &genwayv1.GenerateTextRequest{Tools: []*genwayv1.Tool{{}}, ToolChoice: &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE}}, "", ""},
		{"schema", "structured_output: false", &genwayv1.GenerateTextRequest{ResponseFormat: schema}, nil, "", "response_format"},
		{"image", "input: [text]", &genwayv1.GenerateTextRequest{Messages: image}, nil, "", "messages[0].parts[1].image"},
		{"file", "input: [text, image]", &genwayv1.GenerateTextRequest{Messages: file}, nil, "", "messages[0].parts[0].file"},
		{"image read", "input: [text, image]", &genwayv1.GenerateTextRequest{Messages: image}, &genwayv1.GenerateTextRequest{Messages: image}, "", ""},
		{"audio wanted", "output: [text]", &genwayv1.GenerateTextRequest{Modalities: []string{"text", "audio"}}, nil, "", "modalities"},
		{"unknown wanted", "output: [text]", &genwayv1.GenerateTextRequest{Modalities: []string{"smell"}}, &genwayv1.GenerateTextRequest{Modalities: []string{"smell"}}, "", ""},
	} {
		before := proto.CloneOf(c.in)
		got, losses, err := row(c.row).Fit(c.in, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS)
		var lost []string
		for _, l := range losses {
			lost = append(lost, l.GetMember())
		}
		if c.refused != "" {
			if f := fault.From(err); err == nil || f.Param != c.refused || f.Kind != fault.InvalidRequest {
				t.Errorf("%s: %v", c.name, err)
			}
		} else if err != nil || !proto.Equal(got, c.out) || strings.Join(lost, " ") != c.lost {
			t.Errorf("%s: got %v, lost %v, %v", c.name, got, lost, err)
		}
		if !proto.Equal(before, c.in) {
			t.Errorf("%s: the caller's request was changed", c.name)
		}
	}
}

// What the rows of models of today make of a request: at least one case for each rule.
func TestFitToModels(t *testing.T) {
	const imageDemanded = `{"tools":[{"hosted":{"protocol":"PROTOCOL_RESPONSES","type":"image_generation","json":"e30="}}],"toolChoice":{"mode":"MODE_REQUIRED"}}`
	const chat, responses = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_RESPONSES
	const messages, gemini = genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	for _, c := range []struct {
		name, model string
		protocol    genwayv1.Protocol
		in, out     string // JSON of the contract
		lost        string
		refused     string
	}{
		{
			"Gemini CLI's own body", "claude-sonnet-4-5", messages,
			`{"sampling":{"temperature":1,"topP":0.95,"topK":64},"thinking":{"budgetTokens":8192,"includeThoughts":true},"maxOutputTokens":"64000"}`,
			`{"sampling":{"topP":0.95},"thinking":{"budgetTokens":8192,"includeThoughts":true},"maxOutputTokens":"64000"}`, "sampling.top_k", "",
		},
		{
			"sampling while it thinks", "claude-haiku-4-5", messages,
			`{"sampling":{"temperature":0.2,"topP":0.9},"thinking":{"budgetTokens":8192}}`, `{"sampling":{},"thinking":{"budgetTokens":8192}}`, "sampling.temperature sampling.top_p", "",
		},
		{"sampling without thinking", "claude-haiku-4-5", messages, `{"sampling":{"temperature":0.2,"topK":4}}`, `{"sampling":{"temperature":0.2,"topK":4}}`, "", ""},
		{"an image by the tool", "gpt-4.1", responses, `{"modalities":["text","image"]}`, `{"modalities":["text","image"]}`, "", ""},
		{"an image of chat", "gpt-4.1", chat, `{"modalities":["text","image"]}`, "", "", "modalities"},
		{"the image tool", "gemini-2.5-flash-image", gemini, imageDemanded, imageDemanded, "", ""},
		{"one of two", "claude-haiku-4-5", messages, `{"sampling":{"temperature":0.2,"topP":0.9}}`, `{"sampling":{"temperature":0.2}}`, "sampling.top_p", ""},
		{"one of two says nothing", "claude-haiku-4-5", messages, `{"sampling":{"temperature":1,"topP":0.9}}`, `{"sampling":{"topP":0.9}}`, "", ""},
		{"one of two, the other", "claude-haiku-4-5", messages, `{"sampling":{"temperature":0.2,"topP":1}}`, `{"sampling":{"temperature":0.2}}`, "", ""},
		{"two say nothing", "claude-haiku-4-5", messages, `{"sampling":{"temperature":1,"topP":1}}`, `{"sampling":{"topP":1}}`, "", ""},
		{"both, of an older model", "claude-sonnet-4-20250514", messages, `{"sampling":{"temperature":0.2,"topP":0.9}}`, `{"sampling":{"temperature":0.2,"topP":0.9}}`, "", ""},
		{"no sampling", "claude-opus-4-7", messages, `{"sampling":{"temperature":0,"topK":1}}`, `{"sampling":{}}`, "sampling.temperature sampling.top_k", ""},

		{"Codex' reasoning", "claude-sonnet-4-5", messages, `{"thinking":{"effort":"medium","summary":"auto"}}`, `{"thinking":{"budgetTokens":8192,"summary":"auto"}}`, "thinking.effort", ""},
		{"a summary alone", "claude-sonnet-4-5", messages, `{"thinking":{"summary":"auto"}}`, `{"thinking":{"budgetTokens":8192,"summary":"auto"}}`, "", ""},
		{"the model is to decide", "claude-sonnet-4-5", messages, `{"thinking":{"budgetTokens":-1}}`, `{"thinking":{"budgetTokens":8192}}`, "thinking.mode", ""},
		{"adaptive with an effort", "claude-sonnet-4-5", messages, `{"thinking":{"mode":"MODE_ADAPTIVE","effort":"high"}}`, `{"thinking":{"budgetTokens":24576}}`, "thinking.effort", ""},
		{"a small budget", "claude-sonnet-4-5", messages, `{"thinking":{"budgetTokens":10}}`, `{"thinking":{"budgetTokens":1024}}`, "thinking.budget_tokens", ""},
		{
			"a budget above the limit", "claude-sonnet-4-5", messages,
			`{"maxOutputTokens":"4096","thinking":{"budgetTokens":8192}}`, `{"maxOutputTokens":"4096","thinking":{"budgetTokens":3072}}`, "thinking.budget_tokens", "",
		},
		{
			"a budget at the limit", "claude-sonnet-4-5", messages,
			`{"maxOutputTokens":"1025","thinking":{"budgetTokens":1025}}`, `{"maxOutputTokens":"1025","thinking":{"budgetTokens":1024}}`, "thinking.budget_tokens", "",
		},
		{
			"no room", "claude-sonnet-4-5", messages, `{"maxOutputTokens":"1024","sampling":{"topK":3},"thinking":{"effort":"high"}}`,
			`{"maxOutputTokens":"1024","sampling":{"topK":3},"thinking":{"mode":"MODE_DISABLED"}}`, "thinking.effort thinking", "",
		},
		{"the largest budget", "gemini-2.5-pro", gemini, `{"thinking":{"budgetTokens":2147483647}}`, `{"thinking":{"budgetTokens":32768}}`, "thinking.budget_tokens", ""},
		{"an effort above", "gemini-2.5-flash", gemini, `{"thinking":{"effort":"xhigh"}}`, `{"thinking":{"budgetTokens":24576}}`, "thinking.effort thinking.budget_tokens", ""},
		{"adaptive", "gemini-2.5-flash", gemini, `{"thinking":{"mode":"MODE_ADAPTIVE"}}`, `{"thinking":{"mode":"MODE_ADAPTIVE"}}`, "", ""},
		{"a budget for efforts", "gpt-5.1", responses, `{"thinking":{"budgetTokens":60000}}`, `{"thinking":{"effort":"high"}}`, "thinking.budget_tokens thinking.effort", ""},
		{"an effort that it has not", "gpt-5", responses, `{"thinking":{"effort":"xhigh"}}`, `{"thinking":{"effort":"high"}}`, "thinking.effort", ""},
		{"minimal", "gpt-6-sol", responses, `{"thinking":{"effort":"minimal"}}`, `{"thinking":{"effort":"low"}}`, "thinking.effort", ""},
		{"an effort of the vendor's", "gpt-6-sol", responses, `{"thinking":{"effort":"ultra"}}`, `{"thinking":{"effort":"ultra"}}`, "", ""},
		{"none", "gpt-6-sol", responses, `{"thinking":{"effort":"none"},"sampling":{"temperature":0}}`, `{"thinking":{"effort":"none"},"sampling":{"temperature":0}}`, "", ""},
		{"none is not taken", "gpt-6.2-sol", responses, `{"thinking":{"effort":"none"},"sampling":{"temperature":0}}`, `{"thinking":{"effort":"low"},"sampling":{}}`, "thinking sampling.temperature", ""},
		{"disabled is not taken", "claude-opus-5-5", messages, `{"thinking":{"mode":"MODE_DISABLED"}}`, `{"thinking":{"effort":"low"}}`, "thinking", ""},
		{"none for a budget", "gemini-2.5-pro", gemini, `{"thinking":{"effort":"none"}}`, `{"thinking":{"budgetTokens":128}}`, "thinking", ""},
		{"none for a level", "gemini-3.1-pro-preview", gemini, `{"thinking":{"budgetTokens":0}}`, `{"thinking":{"effort":"low"}}`, "thinking", ""},
		{"thinks anyway", "gemini-3-flash-preview", gemini, `{"thinking":{"mode":"MODE_ADAPTIVE"}}`, `{"thinking":{"includeThoughts":true}}`, "", ""},
		{"thinks if asked", "gpt-5.1", chat, `{"thinking":{"mode":"MODE_ADAPTIVE"}}`, `{"thinking":{"effort":"medium"}}`, "thinking.mode", ""},
		{"sampling of one that does not think", "gpt-5.1", chat, `{"sampling":{"temperature":0.5,"presencePenalty":1}}`, `{"sampling":{"temperature":0.5}}`, "sampling.presence_penalty", ""},
		{"sampling of one that thinks", "gpt-5.5", chat, `{"sampling":{"temperature":0.5,"topP":0.9,"logprobs":true}}`, `{"sampling":{}}`, "sampling.temperature sampling.top_p sampling.logprobs", ""},

		{
			"forced, thinking", "claude-sonnet-4-5", messages, `{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_REQUIRED","names":["f"]},"thinking":{"budgetTokens":2000},"sampling":{"topK":2}}`,
			`{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_REQUIRED","names":["f"]},"thinking":{"mode":"MODE_DISABLED"},"sampling":{"topK":2}}`, "thinking", "",
		},
		{
			"forced, adaptive", "claude-opus-4-8", messages, `{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_REQUIRED"},"thinking":{"mode":"MODE_ADAPTIVE","effort":"max"}}`,
			`{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_REQUIRED"},"thinking":{"mode":"MODE_DISABLED","effort":"high"}}`, "thinking", "",
		},
		{
			"forced, an effort alone", "claude-opus-4-8", messages, `{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_REQUIRED"},"thinking":{"effort":"low"}}`,
			`{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_REQUIRED"},"thinking":{"effort":"low"}}`, "", "",
		},
		{
			"forced, not taken", "claude-opus-5-5", messages, `{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_REQUIRED","names":["f"]}}`,
			`{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_AUTO","names":["f"],"allowedList":true}}`, "tool_choice", "",
		},
		{
			"forced, any", "claude-fable-5-2", messages, `{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_REQUIRED","parallel":false}}`,
			`{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_AUTO","parallel":false}}`, "tool_choice", "",
		},
		{
			"forced, always thinks", "claude-fable-5", messages, `{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_REQUIRED"}}`,
			`{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_AUTO"}}`, "tool_choice", "",
		},

		{"prefill", "claude-opus-4-6", messages, `{"messages":[{"role":"ROLE_USER","parts":[{"text":{"text":"a"}}]},{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"b"}}]}]}`, "", "", "messages[1]"},
		{"prefill, instructions last", "claude-opus-4-6", messages, `{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"b"}}]},{"role":"ROLE_SYSTEM","parts":[{"text":{"text":"c"}}]}]}`, "", "", "messages[0]"},
		{"prefill, no text", "claude-opus-4-6", messages, `{"messages":[{"role":"ROLE_ASSISTANT"}]}`, `{"messages":[{"role":"ROLE_ASSISTANT"}]}`, "", ""},
		{
			"prefill, thinking", "claude-haiku-4-5", messages, `{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"b"}}]}],"thinking":{"budgetTokens":2000}}`,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"b"}}]}],"thinking":{"mode":"MODE_DISABLED"}}`, "thinking", "",
		},
		{
			"an open loop without thinking, and what the user says after it", "claude-haiku-4-5", messages,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"name":"f"}}]},{"role":"ROLE_TOOL","parts":[{"toolResult":{}}]},{"role":"ROLE_USER","parts":[{"text":{"text":"b"}}]}],"thinking":{"effort":"high"}}`,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"name":"f"}}]},{"role":"ROLE_TOOL","parts":[{"toolResult":{}}]},{"role":"ROLE_USER","parts":[{"text":{"text":"b"}}]}],"thinking":{"mode":"MODE_DISABLED"}}`,
			"thinking.effort thinking", "",
		},
		{
			"an open loop without thinking", "claude-haiku-4-5", messages,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"name":"f"}}]},{"role":"ROLE_TOOL","parts":[{"toolResult":{}}]}],"thinking":{"effort":"high"}}`,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"name":"f"}}]},{"role":"ROLE_TOOL","parts":[{"toolResult":{}}]}],"thinking":{"mode":"MODE_DISABLED"}}`, "thinking.effort thinking", "",
		},
		{
			"an open loop of an adaptive model", "claude-opus-4-6", messages,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"name":"f"}}]},{"role":"ROLE_TOOL","parts":[{"toolResult":{}}]}],"thinking":{"budgetTokens":24576}}`,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"name":"f"}}]},{"role":"ROLE_TOOL","parts":[{"toolResult":{}}]}],"thinking":{"mode":"MODE_ADAPTIVE","effort":"high"}}`, "thinking.budget_tokens", "",
		},
		{
			"an open loop with its own thinking", "claude-haiku-4-5", messages,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"thinking":{"signature":{"protocol":"PROTOCOL_MESSAGES","value":"YQ=="}}}]},{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"name":"f"}}]},{"role":"ROLE_TOOL","parts":[{"toolResult":{}}]}],"thinking":{"budgetTokens":2000}}`,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"thinking":{"signature":{"protocol":"PROTOCOL_MESSAGES","value":"YQ=="}}}]},{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"name":"f"}}]},{"role":"ROLE_TOOL","parts":[{"toolResult":{}}]}],"thinking":{"budgetTokens":2000}}`, "", "",
		},
		{
			"an open loop with another's thinking", "claude-haiku-4-5", messages,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"thinking":{"signature":{"protocol":"PROTOCOL_GENERATE_CONTENT","value":"YQ=="}}},{"toolCall":{"name":"f"}}]},{"role":"ROLE_USER","parts":[{"toolResult":{}}]}],"thinking":{"budgetTokens":2000}}`,
			`{"messages":[{"role":"ROLE_ASSISTANT","parts":[{"thinking":{"signature":{"protocol":"PROTOCOL_GENERATE_CONTENT","value":"YQ=="}}},{"toolCall":{"name":"f"}}]},{"role":"ROLE_USER","parts":[{"toolResult":{}}]}],"thinking":{"mode":"MODE_DISABLED"}}`, "thinking", "",
		},
		{
			"results without a call", "claude-haiku-4-5", messages, `{"messages":[{"role":"ROLE_USER","parts":[{"toolResult":{}}]}],"thinking":{"budgetTokens":2000}}`,
			`{"messages":[{"role":"ROLE_USER","parts":[{"toolResult":{}}]}],"thinking":{"mode":"MODE_DISABLED"}}`, "thinking", "",
		},

		{"a schema with functions", "gemini-2.5-flash", gemini, `{"tools":[{"function":{"name":"f"}}],"responseFormat":{"kind":"KIND_JSON_SCHEMA"}}`, "", "", "response_format"},
		{"a schema with functions, later", "gemini-3-flash-preview", gemini, `{"tools":[{"function":{"name":"f"}}],"responseFormat":{"kind":"KIND_JSON_SCHEMA"}}`, `{"tools":[{"function":{"name":"f"}}],"responseFormat":{"kind":"KIND_JSON_SCHEMA"}}`, "", ""},
		{"JSON with functions", "gemini-2.5-flash", gemini, `{"tools":[{"function":{"name":"f"}}],"responseFormat":{"kind":"KIND_JSON_OBJECT"}}`, `{"tools":[{"function":{"name":"f"}}]}`, "response_format", ""},
		{
			"a schema with functions not to be called", "gemini-2.5-flash", gemini, `{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_NONE"},"responseFormat":{"kind":"KIND_JSON_SCHEMA"}}`,
			`{"responseFormat":{"kind":"KIND_JSON_SCHEMA"}}`, "", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, want := request(t, c.in), request(t, c.out)
			before := proto.CloneOf(in)
			got, losses, err := catalog.Shipped().Find(c.model).Fit(in, c.protocol)
			if !proto.Equal(before, in) {
				t.Error("the caller's request was changed")
			}
			if c.refused != "" {
				if f := fault.From(err); err == nil || f.Param != c.refused || f.Kind != fault.InvalidRequest {
					t.Errorf("want a refusal of %s, got %v, %v", c.refused, got, err)
				}
				return
			}
			var lost []string
			for _, l := range losses {
				lost = append(lost, l.GetMember())
			}
			if err != nil || !proto.Equal(got, want) || strings.Join(lost, " ") != c.lost {
				t.Fatalf("got %v, lost %v, %v", got, losses, err)
			}
			again, losses, err := catalog.Shipped().Find(c.model).Fit(got, c.protocol)
			if err != nil || !proto.Equal(again, got) || losses != nil {
				t.Errorf("what fits is changed: %v, lost %v, %v", again, losses, err)
			}
		})
	}
}

func request(t *testing.T, text string) *genwayv1.GenerateTextRequest {
	t.Helper()
	req := &genwayv1.GenerateTextRequest{}
	if text != "" {
		if err := protojson.Unmarshal([]byte(text), req); err != nil {
			t.Fatal(err)
		}
	}
	return req
}

// A parameter that a row can name is one that is left out, wherever it stands.
func TestRefusable(t *testing.T) {
	full := &genwayv1.GenerateTextRequest{
		StopSequences: []string{"x"}, Verbosity: "x", ServiceTier: "x", Store: new(true), PromptCacheKey: "x", SafetyIdentifier: "x", User: "x", Metadata: map[string]string{"a": "b"},
		Sampling: &genwayv1.Sampling{Temperature: new(0.0), TopP: new(0.5), TopK: new(int32(4)), Seed: new(int64(0)), FrequencyPenalty: new(0.5), PresencePenalty: new(0.5), Logprobs: new(true), TopLogprobs: new(int32(1)), CandidateCount: new(int32(2))},
	}
	all := slices.Clone(catalog.Refusable())
	got, losses, err := catalog.Row{Refuses: &all}.Fit(full, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS)
	if err != nil || len(losses) != len(all) || !proto.Equal(got, &genwayv1.GenerateTextRequest{Sampling: &genwayv1.Sampling{}}) {
		t.Errorf("got %v, %d losses of %d, %v", got, len(losses), len(all), err)
	}
}

// A call is not demanded of a model that refuses to be made to, whether it thinks or not.
func TestForcedCalls(t *testing.T) {
	forced := `{"tools":[{"function":{"name":"f"}}],"toolChoice":{"mode":"MODE_REQUIRED"}}`
	got, losses, err := catalog.Row{Refuses: &[]string{catalog.ForcedToolChoice}, Thinking: &[]string{}}.Fit(request(t, forced), genwayv1.Protocol_PROTOCOL_MESSAGES)
	if err != nil || len(losses) != 1 || losses[0].GetMember() != "tool_choice" || got.GetToolChoice().GetMode() != genwayv1.ToolChoice_MODE_AUTO {
		t.Errorf("got %v, losses %v, %v", got, losses, err)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "there are no models in it",
		"models: []":                        "there are no models in it",
		"models: [{context: 1}]":            "model is missing",
		"models: [{model: GPT}]":            `write "gpt"`,
		"models: [{model: m, context: 0}]":  "expected at least 1 token, got 0",
		"models: [{model: m, context: -1}]": "expected at least 1 token, got -1",
		"models: [{model: m, max_output: 9223372036854775808}]": "too large a number",
		"models: [{model: m, input: [smell]}]":                  `"smell" is none of text`,
		"models: [{model: m, refuses: [temprature]}]":           `did you mean "temperature"?`,
		"models: [{model: m, thinking: [hard]}]":                `"hard" is none of budget`,
		"models: [{model: m, thinks: never}]":                   `"never" is none of asked, default, always`,
		"models: [{model: m, efforts: [none]}]":                 `"none" is none of minimal`,
		"models: [{model: m, refuses_thinking: [prefil]}]":      `did you mean "prefill"?`,
		"models: [{model: m, one_of: [prefill]}]":               `"prefill" is none of`,
		"models: [{model: m, min_budget: 0}]":                   "expected at least 1 token, got 0",
		"models: [{model: m, min_budget: 2, max_budget: 1}]":    "2 is more than max_budget, which is 1",
		"models: [{model: m, thinking_top_p: 1.1}]":             "expected 0 to 1, got 1.1",
		"models: [{model: m, thinking_top_p: .nan}]":            "thinking_top_p",
		"models: [{model: m, contxt: 1}]":                       `unknown key "contxt"`,
	} {
		if _, err := catalog.Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
