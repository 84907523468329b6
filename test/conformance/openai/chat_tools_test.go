package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

func weatherTools() []openai.ChatCompletionToolUnionParam {
	return []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "get_weather", Description: openai.String("Get the current weather in a city."),
			Parameters: weather(), Strict: openai.Bool(true),
		}),
		openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_time"}),
	}
}

// called returns an answer's calls; it must have ended for them.
func called(t *testing.T, answer *openai.ChatCompletion, count int) []openai.ChatCompletionMessageToolCallUnion {
	t.Helper()
	choice := answer.Choices[0]
	check.Equal(t, "finish_reason", choice.FinishReason, "tool_calls")
	if len(choice.Message.ToolCalls) != count {
		t.Fatalf("not %d calls: %s", count, choice.Message.RawJSON())
	}
	for _, call := range choice.Message.ToolCalls {
		check.Truef(t, call.ID != "", "a call without id: %s", call.RawJSON())
		check.Equal(t, "type", call.Type, "function")
	}
	return choice.Message.ToolCalls
}

func TestChatToolLoop(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage("What's the weather like in San Francisco?"))
	params.Tools = weatherTools()
	first := complete(t, params)
	call := called(t, first, 1)[0]
	check.Equal(t, "tool", call.Function.Name, "get_weather")
	var arguments struct{ City, Unit string }
	if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil {
		t.Fatal(err)
	}
	check.Truef(t, arguments.City != "" && (arguments.Unit == "celsius" || arguments.Unit == "fahrenheit"),
		"arguments do not satisfy the schema: %s", call.Function.Arguments)

	params.Messages = append(params.Messages, first.Choices[0].Message.ToParam(), openai.ToolMessage("18 degrees and sunny", call.ID))
	second := complete(t, params)
	check.Equal(t, "finish_reason", second.Choices[0].FinishReason, "stop")
	check.Contains(t, second.Choices[0].Message.Content, "get_weather returned", "18 degrees and sunny", "San Francisco")
}

func TestChatParallelTools(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage(`Call the tool get_weather with {"city":"Oslo","unit":"celsius"}. Call the tool get_time with {"zone":"UTC"}.`))
	params.Tools = weatherTools()
	first := complete(t, params)
	calls := called(t, first, 2)
	check.Equal(t, "arguments", calls[0].Function.Arguments, `{"city":"Oslo","unit":"celsius"}`)
	check.Equal(t, "tool", calls[1].Function.Name, "get_time")
	check.Equal(t, "arguments", calls[1].Function.Arguments, `{"zone":"UTC"}`)
	check.Truef(t, calls[0].ID != calls[1].ID, "two calls have one id")

	// The results come in the other order: they are distinguished by their ids.
	both := append([]openai.ChatCompletionMessageParamUnion{}, params.Messages...)
	both = append(both, first.Choices[0].Message.ToParam(),
		openai.ToolMessage("noon", calls[1].ID), openai.ToolMessage([]openai.ChatCompletionContentPartTextParam{{Text: "4 degrees"}}, calls[0].ID))
	answer := complete(t, openai.ChatCompletionNewParams{Model: textModel, Messages: both, Tools: params.Tools})
	check.Contains(t, answer.Choices[0].Message.Content, `The tool get_time returned: "noon"`, `The tool get_weather returned: "4 degrees"`)

	params.ParallelToolCalls = openai.Bool(false)
	called(t, complete(t, params), 1)
}

func TestChatToolChoice(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage("Hello."))
	params.Tools = weatherTools()
	check.Equal(t, "calls without need", len(complete(t, params).Choices[0].Message.ToolCalls), 0)

	params.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}
	called(t, complete(t, params), 1)

	params.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "get_time"})
	forced := complete(t, params)
	// The vendor ends a forced call with "stop" or "tool_calls", by model.
	check.Equal(t, "number of calls", len(forced.Choices[0].Message.ToolCalls), 1)
	check.Equal(t, "tool", forced.Choices[0].Message.ToolCalls[0].Function.Name, "get_time")

	params.Messages = []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What's the weather like in San Francisco?")}
	params.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("none")}
	none := complete(t, params)
	check.Equal(t, "calls though forbidden", len(none.Choices[0].Message.ToolCalls), 0)
	check.Contains(t, none.Choices[0].Message.Content, "get_weather", "get_time")
}

func TestChatCustomTool(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage(`Call the tool shell with "ls -l".`))
	params.Tools = []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionCustomTool(openai.ChatCompletionCustomToolCustomParam{Name: "shell", Description: openai.String("Runs a command.")}),
	}
	message := complete(t, params).Choices[0].Message
	if len(message.ToolCalls) != 1 {
		t.Fatalf("not one call: %s", message.RawJSON())
	}
	check.Equal(t, "type", message.ToolCalls[0].Type, "custom")
	check.Equal(t, "input", message.ToolCalls[0].Custom.Input, "ls -l")
	params.Messages = append(params.Messages, message.ToParam(), openai.ToolMessage("total 0", message.ToolCalls[0].ID))
	check.Contains(t, complete(t, params).Choices[0].Message.Content, "The tool shell returned", "total 0")
}
