package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/catalog"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
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
			"sampling", "refuses: [temperature, top_k, user]",
			&genwayv1.GenerateTextRequest{User: "u", Sampling: &genwayv1.Sampling{Temperature: new(1.0), Seed: new(int64(7))}},
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
			"adaptive to none", "thinking: [budget]", &genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ADAPTIVE}},
			&genwayv1.GenerateTextRequest{Thinking: &genwayv1.ThinkingConfig{}}, "thinking.mode", "",
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
		got, losses, err := row(c.row).Fit(c.in)
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

// A parameter that a row can name is one that is left out, wherever it stands.
func TestRefusable(t *testing.T) {
	full := &genwayv1.GenerateTextRequest{
		StopSequences: []string{"x"}, Verbosity: "x", ServiceTier: "x", Store: new(true), PromptCacheKey: "x", SafetyIdentifier: "x", User: "x", Metadata: map[string]string{"a": "b"},
		Sampling: &genwayv1.Sampling{Temperature: new(0.0), TopP: new(0.0), TopK: new(int32(0)), Seed: new(int64(0)), FrequencyPenalty: new(0.0), PresencePenalty: new(0.0), Logprobs: new(true), TopLogprobs: new(int32(1)), CandidateCount: new(int32(1))},
	}
	all := slices.Clone(catalog.Refusable())
	got, losses, err := catalog.Row{Refuses: &all}.Fit(full)
	if err != nil || len(losses) != len(all) || !proto.Equal(got, &genwayv1.GenerateTextRequest{Sampling: &genwayv1.Sampling{}}) {
		t.Errorf("got %v, %d losses of %d, %v", got, len(losses), len(all), err)
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
