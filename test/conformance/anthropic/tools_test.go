package anthropic_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"
	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
)

func tools() []anthropic.ToolUnionParam {
	return []anthropic.ToolUnionParam{
		{OfTool: &anthropic.ToolParam{
			Name: "get_weather", Description: anthropic.String("Get the current weather in a city."),
			InputSchema: anthropic.ToolInputSchemaParam{
				Properties: map[string]any{
					"city": map[string]any{"type": "string"},
					"unit": map[string]any{"type": "string", "enum": []string{"celsius", "fahrenheit"}},
				},
				Required: []string{"city", "unit"},
			},
			CacheControl: anthropic.NewCacheControlEphemeralParam(),
		}},
		{OfTool: &anthropic.ToolParam{Name: "get_time", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}}}},
	}
}

// called returns an answer's calls; it must have ended for them.
func called(t *testing.T, answer *anthropic.Message, count int) []anthropic.ToolUseBlock {
	t.Helper()
	check.Equal(t, "stop_reason", answer.StopReason, anthropic.StopReasonToolUse)
	var calls []anthropic.ToolUseBlock
	for _, block := range answer.Content {
		if block.Type == "tool_use" {
			calls = append(calls, block.AsToolUse())
			check.Truef(t, block.ID != "", "a call without id: %s", block.RawJSON())
		}
	}
	if len(calls) != count {
		t.Fatalf("not %d calls: %s", count, answer.RawJSON())
	}
	return calls
}

func TestToolLoop(t *testing.T) {
	t.Parallel()
	params := message(user("What's the weather like in San Francisco?"))
	params.Tools = tools()
	first := create(t, params)
	call := called(t, first, 1)[0]
	check.Equal(t, "tool", call.Name, "get_weather")
	var input struct{ City, Unit string }
	if err := json.Unmarshal(call.Input, &input); err != nil {
		t.Fatal(err)
	}
	check.Truef(t, input.City != "" && (input.Unit == "celsius" || input.Unit == "fahrenheit"), "input does not satisfy the schema: %s", call.Input)

	params.Messages = append(params.Messages, first.ToParam(),
		anthropic.NewUserMessage(anthropic.NewToolResultBlock(call.ID, "18 degrees and sunny", false)))
	second := create(t, params)
	check.Equal(t, "stop_reason", second.StopReason, anthropic.StopReasonEndTurn)
	check.Contains(t, text(t, second), "get_weather returned", "18 degrees and sunny", "San Francisco")
}

// TestToolResults: an error, and a result with an image in it.
func TestToolResults(t *testing.T) {
	t.Parallel()
	png := picture.PNG(t, 7, 5)
	params := message(user(`Call the tool get_weather with {"city":"Oslo","unit":"celsius"}. Call the tool get_time with {"zone":"UTC"}.`))
	params.Tools = tools()
	first := create(t, params)
	calls := called(t, first, 2)
	check.Equal(t, "input", string(calls[0].Input), `{"city":"Oslo","unit":"celsius"}`)
	check.Equal(t, "tool", calls[1].Name, "get_time")
	check.Equal(t, "input", string(calls[1].Input), `{"zone":"UTC"}`)

	params.Messages = append(params.Messages, first.ToParam(), anthropic.NewUserMessage(
		anthropic.NewToolResultBlock(calls[1].ID, "the clock is broken", true),
		anthropic.ContentBlockParamUnion{OfToolResult: &anthropic.ToolResultBlockParam{
			ToolUseID: calls[0].ID,
			Content: []anthropic.ToolResultBlockParamContentUnion{
				{OfText: &anthropic.TextBlockParam{Text: "a map"}},
				{OfImage: &anthropic.ImageBlockParam{Source: anthropic.ImageBlockParamSourceUnion{OfBase64: &anthropic.Base64ImageSourceParam{
					Data: encoded(png), MediaType: anthropic.Base64ImageSourceMediaTypeImagePNG,
				}}}},
			},
		}},
		anthropic.NewTextBlock("Go on."),
	))
	check.Contains(t, text(t, create(t, params)),
		`The tool get_time failed: "the clock is broken"`, "The tool get_weather returned", "a map", picture.Described(png, 7, 5), "Go on.")
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	params := message(user("Hello."))
	params.Tools = tools()
	check.Equal(t, "stop_reason", create(t, params).StopReason, anthropic.StopReasonEndTurn)
	params.ToolChoice = anthropic.ToolChoiceUnionParam{OfAny: &anthropic.ToolChoiceAnyParam{}}
	called(t, create(t, params), 1)
	params.ToolChoice = anthropic.ToolChoiceParamOfTool("get_time")
	check.Equal(t, "tool", called(t, create(t, params), 1)[0].Name, "get_time")

	params.Messages = []anthropic.MessageParam{user(`Call the tool get_weather with {}. Call the tool get_time with {}.`)}
	params.ToolChoice = anthropic.ToolChoiceUnionParam{OfAuto: &anthropic.ToolChoiceAutoParam{DisableParallelToolUse: anthropic.Bool(true)}}
	called(t, create(t, params), 1)
	none := anthropic.NewToolChoiceNoneParam()
	params.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &none}
	check.Equal(t, "stop_reason", create(t, params).StopReason, anthropic.StopReasonEndTurn)
}

// TestToolRunner lets the SDK's own loop run a tool, unary and streamed.
func TestToolRunner(t *testing.T) {
	t.Parallel()
	type place struct {
		City string `json:"city" jsonschema:"required"`
	}
	params := anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: textModel, MaxTokens: 2000,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("What's the weather like in San Francisco?"))},
		},
		MaxIterations: 3,
	}
	newTool := func(ran *int) anthropic.BetaTool {
		tool, err := toolrunner.NewBetaToolFromJSONSchema("get_weather", "Get the current weather in a city.",
			func(_ context.Context, where place) (anthropic.BetaToolResultBlockParamContentUnion, error) {
				*ran++
				return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: "sunny in " + where.City}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	c, ran := client(), 0
	runner := c.Beta.Messages.NewToolRunner([]anthropic.BetaTool{newTool(&ran)}, params)
	last, err := runner.RunToCompletion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "times the tool ran", ran, 1)
	check.Contains(t, last.Content[len(last.Content)-1].Text, "sunny in ")

	ran = 0
	streaming := c.Beta.Messages.NewToolRunnerStreaming([]anthropic.BetaTool{newTool(&ran)}, params)
	for turn, err := range streaming.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range turn {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	check.Equal(t, "times the tool ran", ran, 1)
	check.Contains(t, streaming.LastMessage().Content[0].Text, "sunny in ")
}
