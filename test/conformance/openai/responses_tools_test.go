package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

func responseTools() []responses.ToolUnionParam {
	return []responses.ToolUnionParam{
		{OfFunction: &responses.FunctionToolParam{
			Name: "get_weather", Description: openai.String("Get the current weather in a city."),
			Parameters: weather(), Strict: openai.Bool(true),
		}},
		{OfFunction: &responses.FunctionToolParam{
			Name: "get_time", Strict: openai.Bool(false),
			Parameters: map[string]any{"type": "object", "properties": map[string]any{}},
		}},
	}
}

// functionCalls returns an answer's calls, which are items of their own.
func functionCalls(t *testing.T, answer *responses.Response, count int) []responses.ResponseFunctionToolCall {
	t.Helper()
	var calls []responses.ResponseFunctionToolCall
	for _, item := range answer.Output {
		if item.Type == "function_call" {
			calls = append(calls, item.AsFunctionCall())
		}
	}
	if len(calls) != count {
		t.Fatalf("not %d calls: %s", count, answer.RawJSON())
	}
	for _, call := range calls {
		check.Truef(t, call.ID != "" && call.CallID != "", "a call without ids: %s", call.RawJSON())
	}
	return calls
}

func output(call responses.ResponseFunctionToolCall, result string) responses.ResponseInputItemUnionParam {
	return responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
		CallID: openai.String(call.CallID),
		Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(result)},
	}}
}

func TestResponsesToolLoop(t *testing.T) {
	t.Parallel()
	params := conversation(says(responses.EasyInputMessageRoleUser, "What's the weather like in San Francisco?"))
	params.Tools = responseTools()
	call := functionCalls(t, respond(t, params), 1)[0]
	check.Equal(t, "tool", call.Name, "get_weather")
	var arguments struct{ City, Unit string }
	if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil {
		t.Fatal(err)
	}
	check.Truef(t, arguments.City != "" && (arguments.Unit == "celsius" || arguments.Unit == "fahrenheit"),
		"arguments do not satisfy the schema: %s", call.Arguments)

	back := call.ToParam()
	params.Input.OfInputItemList = append(params.Input.OfInputItemList,
		responses.ResponseInputItemUnionParam{OfFunctionCall: &back}, output(call, "18 degrees and sunny"))
	second := respond(t, params)
	functionCalls(t, second, 0)
	check.Contains(t, second.OutputText(), "get_weather returned", "18 degrees and sunny", "San Francisco")
}

// TestResponsesToolResultWithImage sends a result as parts, as coding agents do.
func TestResponsesToolResultWithImage(t *testing.T) {
	t.Parallel()
	png := picture.PNG(t, 7, 5)
	params := conversation(says(responses.EasyInputMessageRoleUser, `Call the tool get_time with {}.`))
	params.Tools = responseTools()
	call := functionCalls(t, respond(t, params), 1)[0]
	back := call.ToParam()
	result := responses.ResponseInputItemParamOfFunctionCallOutput(responses.ResponseFunctionCallOutputItemListParam{
		responses.ResponseFunctionCallOutputItemParamOfInputText("a clock"),
		{OfInputImage: &responses.ResponseInputImageContentParam{ImageURL: openai.String(picture.DataURL("image/png", png))}},
	})
	result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
	params.Input.OfInputItemList = append(params.Input.OfInputItemList,
		responses.ResponseInputItemUnionParam{OfFunctionCall: &back}, result)
	check.Contains(t, respond(t, params).OutputText(), "get_time returned", "a clock", picture.Described(png, 7, 5))
}

func TestResponsesParallelTools(t *testing.T) {
	t.Parallel()
	params := conversation(says(responses.EasyInputMessageRoleUser,
		`Call the tool get_weather with {"city":"Oslo","unit":"celsius"}. Call the tool get_time with {"zone":"UTC"}.`))
	params.Tools = responseTools()
	first := respond(t, params)
	calls := functionCalls(t, first, 2)
	check.Equal(t, "arguments", calls[0].Arguments, `{"city":"Oslo","unit":"celsius"}`)
	check.Equal(t, "arguments", calls[1].Arguments, `{"zone":"UTC"}`)
	check.Truef(t, calls[0].CallID != calls[1].CallID, "two calls have one id")

	// By the earlier response's id, only the results are sent.
	results := conversation(output(calls[1], "noon"), output(calls[0], "4 degrees"))
	results.PreviousResponseID = openai.String(first.ID)
	check.Contains(t, respond(t, results).OutputText(),
		`The tool get_time returned: "noon"`, `The tool get_weather returned: "4 degrees"`)

	params.ParallelToolCalls = openai.Bool(false)
	functionCalls(t, respond(t, params), 1)
}

func TestResponsesToolChoice(t *testing.T) {
	t.Parallel()
	params := asked("Hello.")
	params.Tools = responseTools()
	functionCalls(t, respond(t, params), 0)
	params.ToolChoice.OfToolChoiceMode = openai.Opt(responses.ToolChoiceOptionsRequired)
	functionCalls(t, respond(t, params), 1)
	params.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{OfFunctionTool: &responses.ToolChoiceFunctionParam{Name: "get_time"}}
	check.Equal(t, "tool", functionCalls(t, respond(t, params), 1)[0].Name, "get_time")
	params = asked("What's the weather like in San Francisco?")
	params.Tools = responseTools()
	params.ToolChoice.OfToolChoiceMode = openai.Opt(responses.ToolChoiceOptionsNone)
	functionCalls(t, respond(t, params), 0)
}

// TestResponsesOtherTools: tools that the sandbox cannot run are accepted, and a custom
// tool is called with its input.
func TestResponsesOtherTools(t *testing.T) {
	t.Parallel()
	params := conversation(says(responses.EasyInputMessageRoleUser, `Call the tool shell with "ls -l".`))
	params.Tools = append(responseTools(),
		responses.ToolParamOfWebSearch(responses.WebSearchToolTypeWebSearch),
		responses.ToolParamOfCustom("shell"))
	answer := respond(t, params)
	if len(answer.Output) != 1 || answer.Output[0].Type != "custom_tool_call" {
		t.Fatalf("not one custom call: %s", answer.RawJSON())
	}
	call := answer.Output[0].AsCustomToolCall()
	check.Equal(t, "input", call.Input, "ls -l")
	back := call.ToParam()
	result := responses.ResponseInputItemParamOfCustomToolCallOutput(call.CallID, "total 0")
	params.Input.OfInputItemList = append(params.Input.OfInputItemList,
		responses.ResponseInputItemUnionParam{OfCustomToolCall: &back}, result)
	check.Contains(t, respond(t, params).OutputText(), "The tool shell returned", "total 0", "web_search")
}
